#pragma once

#include "backend/backend.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/model_spec.h"

namespace millrace::model {

// The spec of a checkpoint. Of its tensors it reads at most embedding and head, where both are there and should be
// tied. kUnsupported names the architecture and the known ones, the dimension that no kernel
// handles, or a configured field that only other families understand.
Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint, const backend::Limits& limits = {});

// The spec with names and orders of weights as in Hugging Face's files or, with `gguf`, as in a GGUF file, whatever the
// checkpoint is: what adapters call the model's modules. Numbers that decide nothing of these may be wrong. Throws
// LoadError: kUnsupported for a family of which the one kind of files says too little for the other.
ModelSpec make_module_spec(const checkpoint::Checkpoint& checkpoint, bool gguf = false);

}  // namespace millrace::model
