#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_reader.h"

namespace millrace::checkpoint {

// Opens the further files of a model in several GGUF files (NAME-00001-of-00003.gguf and so on; split.no, split.count,
// split.tensors.count) and adds their tensors. `first` is the header of checkpoint.files[0]. Does nothing for a single
// file. Throws LoadError for a part that is missing or of another model, and if `first` is not the first part.
void add_gguf_parts(Env& env, const GgufHeader& first, Checkpoint& checkpoint);

}  // namespace millrace::checkpoint
