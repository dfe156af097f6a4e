#pragma once

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "model/model_spec.h"
#include "model/weights/checkpoint_weights.h"
#include "model/weights/weight_summary.h"

namespace millrace::app {

// Summaries of the tensors of a model. They read only file headers.

// An array of {"format", "tensors", "values", "bytes"}, the format with most bytes first. Integer tensors, such as the
// codes of GPTQ, have the format "integers".
nlohmann::ordered_json describe_formats(const checkpoint::Checkpoint& checkpoint);
// A model of a known family.
struct StoredModel {
  const model::ModelSpec& spec;
  const model::CheckpointWeights& weights;
  const model::WeightSummary& summary;
};
// {"total", "without_embedding", "bytes"}: the number of parameters, that number without the embedding (null if
// unknown), and the bytes of all tensors. Where `stored` is null, all that tensors of numbers hold.
nlohmann::ordered_json describe_parameters(const checkpoint::Checkpoint& checkpoint, const StoredModel* stored);
// {"format", "method", "bits_per_weight", "maker", "calibration", "computed_as_f32", "parts"}; null is unknown, or
// nothing. "parts" has {"stored", "matrices", "values", "bytes"} of what is stored alike, most values first.
nlohmann::ordered_json describe_weights(const model::WeightSummary& summary);
// An array with name, format, shape, bytes, file and offset of each tensor. Integer tensors are left out.
nlohmann::ordered_json list_tensors(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::app
