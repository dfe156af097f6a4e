#pragma once

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "model/model_spec.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::app {

// What the tensors of a model come to, from its headers alone.

// Each format with its tensors, values and bytes, the one with most bytes first.
nlohmann::ordered_json describe_formats(const checkpoint::Checkpoint& checkpoint);
// Parameters and bytes of all; `spec` (or null: no family reads the model) says which is the embedding. Without a spec,
// weights may be null.
nlohmann::ordered_json describe_parameters(const checkpoint::Checkpoint& checkpoint, const model::ModelSpec* spec,
                                           const model::CheckpointWeights* weights);
// Every tensor with its place in the files.
nlohmann::ordered_json list_tensors(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::app
