#pragma once

#include "base/error.h"
#include "checkpoint/checkpoint.h"

namespace millrace::model {

// The error for a checkpoint of an architecture that no family answers to. It names the family whose configuration and
// tensors come nearest, the fields that this one does not read, and the tensors that it has no place for. Reads no
// tensor's data.
Error unknown_architecture(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
