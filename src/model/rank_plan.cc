#include "model/rank_plan.h"

namespace millrace::model {

std::vector<RankPlan> plan_ranks(const CheckpointWeights& weights, const ModelSpec& spec,
                                 const backend::Backend& backend, const Shards& shards, MemoryPlanOptions options) {
  options.shards = &shards;
  std::vector<RankPlan> plans;
  double products = 0.0;
  for (options.rank = 0; options.rank < shards.ranks(); ++options.rank) {
    plans.push_back(
        {.share = shards.share(options.rank) / shards.stages(),
         .layers = shards.layers(options.rank),
         .memory = plan_memory(weights, spec, backend, options),
         .kv_bytes_per_token = kv_bytes_per_token(shards.kv_needs(spec, options.rank), options.kv, backend)});
    products += plans.back().memory.multiplied;
  }
  for (RankPlan& plan : plans) plan.work = plan.memory.multiplied / products;
  return plans;
}

}  // namespace millrace::model
