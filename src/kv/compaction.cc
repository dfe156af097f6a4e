#include <algorithm>

#include "kv/paged_cache.h"
#include "kv/prefix_tree.h"

namespace millrace::kv {
namespace {

std::size_t run_end(std::span<const BlockId> blocks, std::size_t first) {
  std::size_t end = first + 1;
  while (end < blocks.size() && blocks[end] == blocks[end - 1] + 1) ++end;
  return end;
}

}  // namespace

std::int32_t PagedCache::compact(std::span<BlockTable* const> tables, std::int32_t most) {
  std::int32_t moved = 0;
  for (BlockTable* table : tables) {
    if (moved == most) break;
    moved += join_runs(*table, most - moved);
  }
  counters_.moved_pages += moved;
  return moved;
}

// Moves the second of two short runs behind the first, or both to where they fit together; where not all of it may be
// moved now its beginning, which the rest follows in later calls. A long run is not moved for the sake of a short one.
std::int32_t PagedCache::join_runs(BlockTable& table, std::int32_t most) {
  const auto long_extent = static_cast<std::size_t>(kLongExtentTokens / config_.block_tokens);
  std::int32_t moved = 0;
  std::vector<BlockId> to;
  for (std::size_t first = 0; moved < most && first < table.blocks().size();) {
    const std::size_t middle = run_end(table.blocks(), first);
    if (middle == table.blocks().size()) break;
    const std::size_t end = run_end(table.blocks(), middle);
    const auto second = static_cast<std::int32_t>(end - middle), both = static_cast<std::int32_t>(end - first);
    const auto [shorter, longer] = std::minmax({middle - first, end - middle});
    const BlockId last = table.blocks()[middle - 1];
    to.clear();
    const bool short_run = shorter < long_extent;
    if (short_run && pool_.free_behind(last) >= second && movable(table, middle, end)) {
      pool_.allocate(std::min(second, most - moved), last, to);
      move(table, middle, to);
    } else if (short_run && longer < 2 * long_extent && movable(table, first, end) &&
               pool_.allocate_run(std::min(both, most - moved), both, to)) {
      move(table, first, to);
    } else {
      first = middle;
    }
    moved += static_cast<std::int32_t>(to.size());
  }
  return moved;
}

bool PagedCache::movable(const BlockTable& table, std::size_t first, std::size_t end) const {
  return std::ranges::all_of(table.blocks().subspan(first, end - first),
                             [&](BlockId block) { return holders(block) == 1; });
}

void PagedCache::move(BlockTable& table, std::size_t first, std::span<const BlockId> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const BlockId from = table.blocks()[first + i];
    device_.copy(from, to[i]);
    if (window_) window_->renamed(from, to[i]);
    if (pool_.published(from)) tree_->relocate(from, to[i]);
    if (disk_ != nullptr) keys_[static_cast<std::size_t>(to[i])] = keys_[static_cast<std::size_t>(from)];
    table.rename(first + i, to[i]);
  }
}

}  // namespace millrace::kv
