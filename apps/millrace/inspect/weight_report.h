#pragma once

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "model/model_spec.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::app {

// Summaries of the tensors of a model. They read only file headers.

// An array of {"format", "tensors", "values", "bytes"}, the format with most bytes first. Integer tensors, such as the
// codes of GPTQ, have the format "integers".
nlohmann::ordered_json describe_formats(const checkpoint::Checkpoint& checkpoint);
// {"total", "without_embedding", "bytes"}: the number of parameters, that number without the embedding (null if
// unknown), and the bytes of all tensors. `spec` is null for a model of no known family; `weights` may then be null
// too.
nlohmann::ordered_json describe_parameters(const checkpoint::Checkpoint& checkpoint, const model::ModelSpec* spec,
                                           const model::CheckpointWeights* weights);
// An array with name, format, shape, bytes, file and offset of each tensor. Integer tensors are left out.
nlohmann::ordered_json list_tensors(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::app
