#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// Contents of the tokenizer's files; empty if absent. `vocabulary` is that of SentencePiece or tiktoken, and only read
// if there is no tokenizer.json.
struct TokenizerFiles {
  std::string tokenizer_json, tokenizer_config_json, vocabulary;
};

// The chat templates in a directory; `tokenizer_config` is the text of its tokenizer_config.json, empty without one.
// The first place that has any template wins with all of its own, as in Transformers 5. Throws LoadError.
chat::ChatTemplateSet read_chat_templates(Env& env, const std::string& directory, const std::string& tokenizer_config);

// Opens a directory with config.json and model.safetensors (or model.safetensors.index.json and its shards) or, without
// these, pytorch_model.bin (or its index and shards). The tokenizer's files are returned as text.
Result<std::unique_ptr<Checkpoint>> read_huggingface(Env& env, const std::string& directory,
                                                     TokenizerFiles* tokenizer_out);

}  // namespace millrace::checkpoint
