#pragma once

#include <cstdint>
#include <vector>

#include "model/memory_plan.h"
#include "model/shard.h"

namespace millrace::model {

// What ranks of a stage send each other in a step, all of them together.
struct PlannedExchanges {
  std::int64_t count = 0;        // exchanges, one behind the other
  std::int64_t row_bytes = 0;    // of a row, in all exchanges but that of logits, as f32: codes are fewer
  std::int64_t logit_bytes = 0;  // of a row of logits; 0 where another stage has the head
};
// None where the stage is one rank.
PlannedExchanges plan_exchanges(const ModelSpec& spec, const Shards& shards, int rank);

// What one of the ranks that share a model will have of it.
struct RankPlan {
  double share = 0.0;  // of a step's work that it should have
  double work = 0.0;   // that it has
  RowRange layers;
  MemoryPlan memory;
  std::uint64_t kv_bytes_per_token = 0;
  PlannedExchanges exchanges;
};

// The plans of all ranks. `options` are those of plan_memory(), but for shards and rank. Throws LoadError.
std::vector<RankPlan> plan_ranks(const CheckpointWeights& weights, const ModelSpec& spec,
                                 const backend::Backend& backend, const Shards& shards, MemoryPlanOptions options);

}  // namespace millrace::model
