#include "model/rank_plan.h"

#include <algorithm>

#include "model/block.h"

namespace millrace::model {

// What the blocks exchange, the rows of the embedding in the first stage, and logits in the last.
PlannedExchanges plan_exchanges(const ModelSpec& spec, const Shards& shards, int rank) {
  PlannedExchanges planned;
  if (shards.stage_ranks() == 1) return planned;
  constexpr auto kValue = static_cast<std::int64_t>(sizeof(float));
  const auto add = [&](std::int64_t columns) {
    ++planned.count;
    planned.row_bytes += columns * kValue;
  };
  if (shards.is_first(rank)) add(spec.embedding_width());
  for (std::int64_t i = shards.layers(rank).first; i < shards.layers(rank).last; ++i) {
    for (const BlockSpec& block : spec.layers[static_cast<std::size_t>(i)].blocks) {
      std::ranges::for_each(kind_of(block).work(block, spec).exchanges, add);
    }
  }
  if (!shards.is_last(rank)) return planned;
  ++planned.count;
  planned.logit_bytes = spec.vocab_size * kValue;
  return planned;
}

std::vector<RankPlan> plan_ranks(const CheckpointWeights& weights, const ModelSpec& spec,
                                 const backend::Backend& backend, const Shards& shards, MemoryPlanOptions options) {
  options.shards = &shards;
  std::vector<RankPlan> plans;
  double products = 0.0;
  for (options.rank = 0; options.rank < shards.ranks(); ++options.rank) {
    plans.push_back({.share = shards.share(options.rank),
                     .layers = shards.layers(options.rank),
                     .memory = plan_memory(weights, spec, backend, options),
                     .kv_bytes_per_token = kv_bytes_per_token(shards.kv_needs(spec, options.rank), options.kv, backend),
                     .exchanges = plan_exchanges(spec, shards, options.rank)});
    products += plans.back().memory.multiplied;
  }
  for (RankPlan& plan : plans) plan.work = plan.memory.multiplied / products;
  return plans;
}

}  // namespace millrace::model
