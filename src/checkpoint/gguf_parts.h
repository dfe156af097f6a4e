#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_reader.h"

namespace millrace::checkpoint {

// A model in several GGUF files, NAME-00001-of-00003.gguf and so on (split.no, split.count, split.tensors.count): opens
// those after the first and adds their tensors. `first` is the header of checkpoint.files[0]. Nothing to do when it is
// the only file. Throws LoadError: a part that is missing, of another model, or not the first one opened.
void add_gguf_parts(Env& env, const GgufHeader& first, Checkpoint& checkpoint);

}  // namespace millrace::checkpoint
