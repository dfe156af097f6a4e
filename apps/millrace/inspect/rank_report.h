#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "inspect/step_prediction.h"
#include "inspect/weight_report.h"
#include "model_flags.h"

namespace millrace::app {

// What each of the ranks that flags ask for has of a model (model/shard.h): {"size", "stages", "balance", "ranks"}, and
// of each rank {"share", "layers": [first, last), "weights", "read", "kv_bytes_per_token", "work"}. Bytes are of the
// whole of its weights, of those that it reads of the files, and of a token in the KV cache that the flags say; work is
// its part of a step's products. "balance": how fast the group is beside ranks whose work is their share; 1 is the
// most. Where the speed of one process is known, "predicted": see predict_steps(). Throws LoadError (kInvalidArgument)
// where the model cannot be split so.
nlohmann::ordered_json describe_ranks(const StoredModel& stored, const ModelFlags& flags,
                                      const model::LoadQuantization& quantization, const backend::Backend& backend,
                                      const PredictionFlags& prediction);

}  // namespace millrace::app
