#pragma once

#include "backend/backend.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/model_spec.h"

namespace millrace::model {

// The spec for a checkpoint. kUnsupported naming the architecture and the known ones; or the dimension that no kernel
// handles; or the field of the configuration that the family does not understand and another one does.
Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint, const backend::Limits& limits = {});

}  // namespace millrace::model
