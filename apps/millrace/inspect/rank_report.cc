#include "inspect/rank_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/rank_plan.h"

namespace millrace::app {

using Json = nlohmann::ordered_json;

Json describe_ranks(const StoredModel& stored, const ModelFlags& flags, const model::LoadQuantization& quantization,
                    const backend::Backend& backend, const PredictionFlags& prediction) {
  const model::Shards shards = flags.ranks.shards(stored.spec).or_throw();
  const std::vector<model::RankPlan> plans =
      model::plan_ranks(stored.weights, stored.spec, backend, shards,
                        {.precision = flags.precision(), .quantization = quantization, .kv = flags.kv_pages()});
  Json ranks = Json::array();
  double slowest = 0.0;
  for (const model::RankPlan& plan : plans) {
    slowest = std::max(slowest, plan.work / plan.share);
    ranks.push_back({{"share", plan.share},
                     {"layers", {plan.layers.first, plan.layers.last}},
                     {"weights", plan.memory.weights},
                     {"read", plan.memory.read},
                     {"kv_bytes_per_token", plan.kv_bytes_per_token},
                     {"work", plan.work}});
  }
  Json report = {
      {"size", shards.ranks()}, {"stages", shards.stages()}, {"balance", 1.0 / slowest}, {"ranks", std::move(ranks)}};
  if (!prediction.model_speed.empty()) report["predicted"] = predict_steps(plans, stored.spec, shards, prediction);
  return report;
}

}  // namespace millrace::app
