#include "model/ranks/rank_counts.h"

#include <map>
#include <string>

namespace millrace::model {

void add_counts(std::vector<backend::RoundingStatistics>& all, std::span<const RankCounts> of_others) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) places.emplace(all[i].weight, i);
  for (const RankCounts& counts : of_others) {
    for (const RankCounts::OfWeight& of_weight : counts.weights) {
      const auto [at, is_new] = places.emplace(of_weight.weight, all.size());
      if (is_new) all.push_back({of_weight.weight, 0, 0});
      all[at->second].outputs += of_weight.outputs;
      all[at->second].moved += of_weight.moved;
    }
  }
}

}  // namespace millrace::model
