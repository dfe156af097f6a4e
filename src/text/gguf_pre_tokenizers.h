#pragma once

#include <string>
#include <string_view>

#include "text/pre_tokenizer.h"

namespace millrace::text {

// What a name in tokenizer.ggml.pre stands for.
struct GgufPreTokenizer {
  std::string_view name;
  PreTokenizer (*make)();
  bool ignore_merges = false;
  bool nfc = false;
  bool adds_bos = false;  // unless the file says
};

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);
std::string gguf_pre_tokenizer_names();  // for error messages

}  // namespace millrace::text
