#include "inspect/rank_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/memory_plan.h"
#include "model/shard.h"

namespace millrace::app {

using Json = nlohmann::ordered_json;

Json describe_ranks(const StoredModel& stored, const ModelFlags& flags, const model::LoadQuantization& quantization,
                    const backend::Backend& backend) {
  const model::Shards shards = flags.ranks.shards(stored.spec).or_throw();
  model::MemoryPlanOptions options{
      .precision = flags.precision(), .quantization = quantization, .kv = flags.kv_pages(), .shards = &shards};
  std::vector<model::MemoryPlan> plans;
  double products = 0.0;
  for (options.rank = 0; options.rank < shards.ranks(); ++options.rank) {
    plans.push_back(model::plan_memory(stored.weights, stored.spec, backend, options));
    products += plans.back().multiplied;
  }
  Json ranks = Json::array();
  double slowest = 0.0;
  for (int rank = 0; rank < shards.ranks(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    const double share = shards.share(rank) / shards.stages(), work = plans[i].multiplied / products;
    slowest = std::max(slowest, work / share);
    const model::RowRange layers = shards.layers(rank);
    ranks.push_back({{"share", share},
                     {"layers", {layers.first, layers.last}},
                     {"weights", plans[i].weights},
                     {"read", plans[i].read},
                     {"kv_bytes_per_token",
                      model::kv_bytes_per_token(shards.kv_needs(stored.spec, rank), flags.kv_pages(), backend)},
                     {"work", work}});
  }
  return {
      {"size", shards.ranks()}, {"stages", shards.stages()}, {"balance", 1.0 / slowest}, {"ranks", std::move(ranks)}};
}

}  // namespace millrace::app
