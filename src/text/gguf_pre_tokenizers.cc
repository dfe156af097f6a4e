#include "text/gguf_pre_tokenizers.h"

#include <algorithm>
#include <array>

namespace millrace::text {
namespace {

PreTokenizer byte_level(std::string_view regex) {
  PreTokenizer out;
  out.byte_level = true;
  out.splitters.push_back(make_known_splitter(regex));
  return out;
}

PreTokenizer gpt2() { return byte_level(kGpt2Regex); }
PreTokenizer llama3() { return byte_level(kLlama3Regex); }
PreTokenizer qwen2() { return byte_level(kQwen2Regex); }
PreTokenizer digits_then_gpt2() {
  PreTokenizer out;
  out.byte_level = true;
  out.splitters.push_back(make_digit_splitter(true));
  out.splitters.push_back(make_known_splitter(kGpt2Regex));
  return out;
}

// To add one: its name here, with the tokenizer.json of the models that carry it as the authority.
constexpr std::array kTable = {
    GgufPreTokenizer{.name = "gpt-2", .make = gpt2},
    GgufPreTokenizer{.name = "gpt2", .make = gpt2},
    GgufPreTokenizer{.name = "llama-bpe", .make = llama3, .ignore_merges = true, .adds_bos = true},
    GgufPreTokenizer{.name = "llama-v3", .make = llama3, .ignore_merges = true, .adds_bos = true},
    GgufPreTokenizer{.name = "llama3", .make = llama3, .ignore_merges = true, .adds_bos = true},
    GgufPreTokenizer{.name = "qwen2", .make = qwen2, .nfc = true},
    GgufPreTokenizer{.name = "smollm", .make = digits_then_gpt2},
    GgufPreTokenizer{.name = "starcoder", .make = digits_then_gpt2},
};

}  // namespace

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) {
  const auto found = std::ranges::find(kTable, name, &GgufPreTokenizer::name);
  return found == kTable.end() ? nullptr : &*found;
}

std::string gguf_pre_tokenizer_names() {
  std::string out;
  for (const GgufPreTokenizer& entry : kTable) out += (out.empty() ? "\"" : ", \"") + std::string(entry.name) + "\"";
  return out;
}

}  // namespace millrace::text
