#include "text/score_merges.h"

#include <algorithm>
#include <functional>

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
  MergeTable out;
  out.reserve(parts.texts.size() * 4);
  for (std::size_t id = 0; id < parts.texts.size(); ++id) {
    const std::string_view text = parts.texts[id];
    // Not a later duplicate, and not of a length that only a hostile file has.
    if (find(text) != static_cast<TokenId>(id) || text.size() > kMaxAddedTokenBytes) continue;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      if ((static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) continue;
      const TokenId left = find(text.substr(0, cut));
      const TokenId right = left < 0 ? -1 : find(text.substr(cut));
      if (right >= 0) out.insert(left, right, {ranks[id], static_cast<TokenId>(id)});
    }
  }
  return out;
}

}  // namespace millrace::text
