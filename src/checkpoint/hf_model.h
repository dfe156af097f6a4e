#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// Contents of the tokenizer's files; empty where there is none. A vocabulary of its own, SentencePiece's or tiktoken's,
// is read only where there is no tokenizer.json.
struct TokenizerFiles {
  std::string tokenizer_json, tokenizer_config_json, vocabulary;
};

// Opens a directory with config.json and model.safetensors (or model.safetensors.index.json and its shards) or, without
// those, pytorch_model.bin (likewise), all but the tokenizer, whose files come out as text.
Result<std::unique_ptr<Checkpoint>> read_huggingface(Env& env, const std::string& directory,
                                                     TokenizerFiles* tokenizer_out);

}  // namespace millrace::checkpoint
