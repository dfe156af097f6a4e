#pragma once

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "model/model_spec.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::app {

// Sums over the tensors of a model, from its headers alone.

// Tensors, values and bytes by format, the largest first.
nlohmann::ordered_json describe_formats(const checkpoint::Checkpoint& checkpoint);
// Total parameters and bytes. `spec` tells which tensor is the embedding; null if no family reads the model. `weights`
// may be null without a spec.
nlohmann::ordered_json describe_parameters(const checkpoint::Checkpoint& checkpoint, const model::ModelSpec* spec,
                                           const model::CheckpointWeights* weights);
// Every tensor with its place in the files.
nlohmann::ordered_json list_tensors(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::app
