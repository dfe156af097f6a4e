#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// Opens a .gguf file without its tokenizer. The vocabulary is returned as data, empty if the file has none, so that
// reading the container needs no tokenizer code.
Result<std::unique_ptr<Checkpoint>> read_gguf(Env& env, const std::string& path, text::GgufVocabulary* vocabulary_out);

}  // namespace millrace::checkpoint
