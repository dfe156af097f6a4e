#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer.h"

namespace millrace::text {

// The files of a Hugging Face directory that say the same as a GGUF vocabulary.
struct TokenizerFiles {
  std::string tokenizer_json, tokenizer_config_json;
};

// Byte-level BPE ("gpt2") only; kUnsupported names another model or an unknown pre-tokenizer. `chat_template` may be
// empty.
Result<TokenizerFiles> tokenizer_files(const GgufVocabulary& vocabulary, const std::string& chat_template);

}  // namespace millrace::text
