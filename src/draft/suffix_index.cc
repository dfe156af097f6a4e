#include "draft/suffix_index.h"

#include <algorithm>
#include <utility>

#include "decode/token_hash.h"

namespace millrace::draft {
namespace {

// Of the last kGram tokens.
std::uint64_t hash_of(std::span<const std::int32_t> tail) {
  std::uint64_t hash = 0;
  for (const std::int32_t token : tail.last(SuffixIndex::kGram)) hash = decode::hash_with(hash, token);
  return hash;
}

}  // namespace

void SuffixIndex::append(std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : tokens) {
    const auto position = static_cast<std::int32_t>(tokens_.size());
    std::int32_t before = -1;
    if (position >= kGram) {
      const auto [it, first] = last_of_.try_emplace(hash_of(tokens_), position);
      if (!first) before = std::exchange(it->second, position);
    }
    tokens_.push_back(token);
    before_.push_back(before);
  }
}

template <typename Use>
void SuffixIndex::look_up(std::span<const std::int32_t> tail, Use use) const {
  const auto size = static_cast<std::int64_t>(tail.size());
  if (size < kGram) return;
  const auto it = last_of_.find(hash_of(tail));
  std::int64_t next = it == last_of_.end() ? -1 : it->second;
  for (int i = 0; next >= 0 && i < kChain; ++i, next = before_[static_cast<std::size_t>(next)]) {
    const std::int64_t limit = std::min({kLongest, next, size});
    std::int64_t alike = 0;
    while (alike < limit &&
           tokens_[static_cast<std::size_t>(next - 1 - alike)] == tail[static_cast<std::size_t>(size - 1 - alike)]) {
      ++alike;
    }
    if (alike >= kGram) use(Match{next, alike});
  }
}

void SuffixIndex::find(std::span<const std::int32_t> tail, std::vector<Match>& matches) const {
  look_up(tail, [&](const Match& match) {
    if (!matches.empty() && match.alike < matches.front().alike) return;
    if (!matches.empty() && match.alike > matches.front().alike) matches.clear();
    matches.push_back(match);
  });
}

void SuffixIndex::find_all(std::span<const std::int32_t> tail, std::vector<Match>& matches) const {
  look_up(tail, [&](const Match& match) { matches.push_back(match); });
}

void SuffixIndex::keep_last(std::int64_t tokens) {
  const std::vector<std::int32_t> kept(tokens_.end() - std::min<std::ptrdiff_t>(std::ssize(tokens_), tokens),
                                       tokens_.end());
  *this = {};
  append(kept);
}

}  // namespace millrace::draft
