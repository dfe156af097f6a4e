#pragma once

#include <string>
#include <string_view>

namespace millrace::text {

// What a name in tokenizer.ggml.pre stands for, as the tokenizer.json of the models that carry it says it.
struct GgufPreTokenizer {
  std::string_view name;
  std::string_view pre_tokenizer;    // JSON
  std::string_view normalizer = "";  // JSON; empty = none
  bool ignore_merges = false;
  bool adds_bos = false;  // unless the file says
};

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);
std::string gguf_pre_tokenizer_names();  // for error messages

}  // namespace millrace::text
