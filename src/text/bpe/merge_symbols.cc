#include <algorithm>
#include <functional>

#include "text/word_model.h"

namespace millrace::text {
namespace {

// Up to here a scan over all pairs for each merge beats the heap.
constexpr std::size_t kShortWord = 40;

void merge_short(const MergeTable& merges, ModelScratch& scratch) {
  auto& symbols = scratch.symbols;
  auto& pairs = scratch.pairs;
  std::size_t n = symbols.size();
  pairs.resize(n);
  for (std::size_t i = 0; i + 1 < n; ++i) pairs[i] = merges.find(symbols[i], symbols[i + 1]);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == MergeTable::kNoMerge) break;
    symbols[best] = pairs[best].result;
    for (std::size_t i = best + 1; i + 1 < n; ++i) {
      symbols[i] = symbols[i + 1];
      pairs[i] = pairs[i + 1];
    }
    --n;
    if (best > 0) pairs[best - 1] = merges.find(symbols[best - 1], symbols[best]);
    if (best + 1 < n) pairs[best] = merges.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(n);
}

// Symbols as a doubly linked list over their positions; a merged-away symbol becomes -1. The heap holds rank << 32 |
// position of the left symbol; an entry is stale when the pair at its position has another rank by now.
class LongWord {
 public:
  LongWord(const MergeTable& merges, ModelScratch& scratch) : merges_(merges), s_(scratch) {
    const std::size_t n = s_.symbols.size();
    s_.pairs.assign(n, {});
    s_.next.resize(n);
    s_.previous.resize(n);
    s_.heap.clear();
    for (std::size_t i = 0; i < n; ++i) {
      s_.next[i] = i + 1 < n ? static_cast<std::int32_t>(i + 1) : -1;
      s_.previous[i] = static_cast<std::int32_t>(i) - 1;
      if (i + 1 == n) break;
      s_.pairs[i] = merges_.find(s_.symbols[i], s_.symbols[i + 1]);
      if (s_.pairs[i].rank != MergeTable::kNoMerge) s_.heap.push_back(key(i));
    }
    std::make_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
  }

  void run() {
    while (!s_.heap.empty()) {
      const std::uint64_t top = s_.heap.front();
      std::pop_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
      s_.heap.pop_back();
      const auto at = static_cast<std::size_t>(top & UINT32_MAX);
      if (s_.pairs[at].rank == static_cast<std::uint32_t>(top >> 32)) merge(at);
    }
    std::erase(s_.symbols, -1);
  }

 private:
  std::uint64_t key(std::size_t at) const { return static_cast<std::uint64_t>(s_.pairs[at].rank) << 32 | at; }

  void merge(std::size_t at) {
    const auto gone = static_cast<std::size_t>(s_.next[at]);
    s_.symbols[at] = s_.pairs[at].result;
    s_.symbols[gone] = -1;
    s_.pairs[gone] = {};
    s_.next[at] = s_.next[gone];
    if (s_.next[at] >= 0) s_.previous[static_cast<std::size_t>(s_.next[at])] = static_cast<std::int32_t>(at);
    renew(at);
    if (s_.previous[at] >= 0) renew(static_cast<std::size_t>(s_.previous[at]));
  }

  void renew(std::size_t at) {
    s_.pairs[at] = s_.next[at] < 0 ? MergeTable::Merge{}
                                   : merges_.find(s_.symbols[at], s_.symbols[static_cast<std::size_t>(s_.next[at])]);
    if (s_.pairs[at].rank == MergeTable::kNoMerge) return;
    s_.heap.push_back(key(at));
    std::push_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
  }

  const MergeTable& merges_;
  ModelScratch& s_;
};

}  // namespace

void merge_symbols(const MergeTable& merges, ModelScratch& scratch) {
  if (scratch.symbols.size() < 2) return;
  if (scratch.symbols.size() <= kShortWord) return merge_short(merges, scratch);
  LongWord(merges, scratch).run();
}

}  // namespace millrace::text
