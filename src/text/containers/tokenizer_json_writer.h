#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer.h"

namespace millrace::text {

// The tokenizer files of a Hugging Face directory that are equivalent to a GGUF vocabulary.
struct TokenizerFiles {
  std::string tokenizer_json, tokenizer_config_json;
};

// Makes the files for byte-level BPE ("gpt2"). kUnsupported names another model or an unknown pre-tokenizer.
// `chat_template` may be empty.
Result<TokenizerFiles> tokenizer_files(const GgufVocabulary& vocabulary, const std::string& chat_template);

}  // namespace millrace::text
