#include "text/bpe/score_merges.h"

#include <algorithm>
#include <functional>

#include "text/bpe/cut_merges.h"

namespace millrace::text {
namespace {

// Equal scores get equal ranks, the highest score rank 0.
std::vector<std::uint32_t> ranks_of(std::span<const float> scores) {
  std::vector<float> sorted(scores.begin(), scores.end());
  std::ranges::sort(sorted, std::greater<>());
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  std::vector<std::uint32_t> ranks;
  ranks.reserve(scores.size());
  for (const float score : scores) {
    const auto at = std::ranges::lower_bound(sorted, score, std::greater<>());
    ranks.push_back(static_cast<std::uint32_t>(at - sorted.begin()));
  }
  return ranks;
}

}  // namespace

MergeTable merges_from_scores(const TokenizerParts& parts, std::span<const float> scores,
                              const std::vector<bool>& mergeable) {
  const std::vector<std::uint32_t> ranks = ranks_of(scores);
  const auto find = [&](std::string_view text) {
    const TokenId id = parts.find(text);
    return id >= 0 && mergeable[static_cast<std::size_t>(id)] ? id : -1;
  };
  return merges_of_cuts(parts.texts, find, [&](TokenId id) { return ranks[static_cast<std::size_t>(id)]; });
}

}  // namespace millrace::text
