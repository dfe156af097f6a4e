#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "inspect/weight_report.h"
#include "model_flags.h"

namespace millrace::app {

// What each rank of a tensor-parallel group has of a model (model/shard.h): {"size", "balance", "ranks"}, and of each
// rank {"share", "weights", "read", "kv_bytes_per_token", "work"}. Bytes are of the whole of its weights, of those that
// it reads of the files, and of a token in the KV cache that the flags say; work is its part of a step's products.
// "balance": how fast the group is beside ranks whose work is their share; 1 is the most. Throws LoadError
// (kInvalidArgument) where the model cannot be split so.
nlohmann::ordered_json describe_ranks(const StoredModel& stored, const ModelFlags& flags,
                                      const model::LoadQuantization& quantization, const backend::Backend& backend,
                                      std::span<const double> shares);

}  // namespace millrace::app
