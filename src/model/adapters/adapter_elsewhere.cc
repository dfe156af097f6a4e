// What an AdapterReading does with parts of the model that other ranks have.

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "model/adapters/adapter_names.h"
#include "model/adapters/adapter_reading.h"

namespace millrace::model {

void AdapterReading::pass_layer(std::int64_t layer, const backend::Linear& linear) {
  const auto has_weight = [&](const std::string& pattern) { return has(WeightLoader::layer_name(pattern, layer)); };
  std::set<std::string> seen;  // some modules have several weights
  for (const BlockSpec& block : spec_.layers[static_cast<std::size_t>(layer)].blocks) {
    for (const BlockWeight& weight : block_weights(block, spec_, has_weight)) {
      const std::string all = WeightLoader::layer_name(weight.name, layer);
      if (!seen.insert(all).second) continue;
      const bool apart = all.find("[]") != std::string::npos;
      std::optional<std::int64_t> rank;  // the largest, where there is any
      for (std::int64_t e = 0; e < (apart ? weight.experts : 1); ++e) {
        const std::string module = apart ? WeightLoader::expert_name(all, e) : all;
        if (!has(module)) continue;
        const bool low_rank = loader_.has(module + kMatrixA);
        rank = std::max(rank.value_or(0), low_rank ? files_.config.rank(spec_.names.in_file(module)) : 0);
      }
      if (rank) count(linear, *rank);
    }
  }
  loader_.mark_layer_used(layer);
}

}  // namespace millrace::model
