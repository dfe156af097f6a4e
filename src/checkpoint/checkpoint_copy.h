#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// Another checkpoint of the same content, to be changed: its files are the original's, which lives as long as they do.
std::unique_ptr<Checkpoint> copy_checkpoint(std::shared_ptr<const Checkpoint> original);
// Makes the indices of the tensors' names anew. Throws LoadError where two are equal.
void index_names(Checkpoint& checkpoint);

}  // namespace millrace::checkpoint
