#include "kv/paged_cache.h"

#include <algorithm>

#include "kv/prefix_tree.h"

namespace millrace::kv {

PagedCache::PagedCache(const CacheConfig& config, PageDevice& device, PageArchive* archive)
    : config_(config),
      device_(device),
      archive_(archive),
      pool_(config.pages),
      swap_(config.swap_bytes, device.page_bytes()) {}
PagedCache::~PagedCache() = default;

std::int32_t PagedCache::available() const noexcept { return pool_.free(); }

std::int32_t PagedCache::releasable(const BlockTable& table) const {
  const auto mine = [&](BlockId block) { return pool_.references(block) == 1; };
  return static_cast<std::int32_t>(std::count_if(table.blocks().begin(), table.blocks().end(), mine));
}

PrefixMatch PagedCache::match(const PrefixScope&, std::span<const std::int32_t>) const { return {}; }

std::int64_t PagedCache::attach(BlockTable& table, const PrefixMatch& match, TimePoint) {
  table.share(match.pages);
  return match.tokens;
}

std::int32_t PagedCache::needed(const BlockTable& table, std::int64_t computed, std::int64_t tokens) const {
  const auto page = static_cast<std::size_t>(computed / config_.block_tokens);
  const bool shared = page < table.blocks().size() && pool_.references(table.blocks()[page]) > 1;
  return table.missing(tokens) + (shared ? 1 : 0);
}

bool PagedCache::reserve(BlockTable& table, std::int64_t computed, std::int64_t tokens) {
  if (needed(table, computed, tokens) > available()) return false;
  const auto page = static_cast<std::size_t>(computed / config_.block_tokens);
  if (page < table.blocks().size() && pool_.references(table.blocks()[page]) > 1) {
    std::vector<BlockId> copy;
    pool_.allocate(1, kNoBlock, copy);
    device_.copy(table.blocks()[page], copy[0]);
    table.replace(page, copy[0]);
    ++counters_.copied_pages;
  }
  return table.reserve(tokens);
}

void PagedCache::publish(const PrefixScope&, const BlockTable&, std::span<const std::int32_t>, bool, const Retention&,
                         TimePoint) {}
void PagedCache::forget(const PrefixScope&, std::span<const std::int32_t>, std::int64_t) {}
void PagedCache::clear() {}

std::optional<SwapTicket> PagedCache::swap_out(BlockTable& table, std::int64_t tokens) {
  table.truncate(tokens);
  auto ticket = swap_.store(device_, table.blocks());
  if (ticket) counters_.swapped_out_pages += ticket->pages();
  if (ticket) table.truncate(0);
  return ticket;
}

bool PagedCache::swap_in(SwapTicket& ticket, BlockTable& table) {
  if (!reserve(table, 0, ticket.pages() * config_.block_tokens)) return false;
  swap_.load(ticket, device_, table.blocks());
  counters_.swapped_in_pages += ticket.pages();
  return true;
}

std::int32_t PagedCache::compact(std::span<BlockTable* const>, std::int32_t) { return 0; }

CacheUse PagedCache::use() const {
  return {
      .total = pool_.total(), .free = pool_.free(), .cached = 0, .used = pool_.used(), .swap_used_pages = swap_.used()};
}

void PagedCache::check_integrity(std::span<const BlockTable* const>) const { pool_.check_integrity(); }

}  // namespace millrace::kv
