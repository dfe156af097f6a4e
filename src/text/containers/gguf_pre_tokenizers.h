#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace millrace::text {

// What a name in tokenizer.ggml.pre means, taken from the tokenizer.json of the models that use it.
struct GgufPreTokenizer {
  // One pre-tokenizer of a Sequence. The byte alphabet is applied last, unless kGpt2 applies it.
  struct Step {
    enum Kind : std::uint8_t { kNone, kSplit, kEachDigit, kDigitRuns, kPunctuation, kGpt2 } kind = kNone;
    std::string_view regex;  // only for kSplit
  };
  using Steps = std::array<Step, 6>;

  std::string_view name;
  Steps steps;
  bool nfc = false;
  bool ignore_merges = false;
  bool adds_bos = false, adds_eos = false;  // the default if the file is silent
};

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);
std::span<const GgufPreTokenizer> gguf_pre_tokenizers();
std::string gguf_pre_tokenizer_names();  // for error messages
// The pre-tokenizer as a component of tokenizer.json.
std::string pre_tokenizer_json(const GgufPreTokenizer& entry);

}  // namespace millrace::text
