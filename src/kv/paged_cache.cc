#include "kv/paged_cache.h"

#include <algorithm>

#include "base/check.h"
#include "kv/disk_tier.h"
#include "kv/prefix_tree.h"

namespace millrace::kv {

PagedCache::PagedCache(const CacheConfig& config, PageDevice& device, DiskTier* disk)
    : config_(config),
      device_(device),
      disk_(disk),
      pool_(config.pages, &device),
      tree_(std::make_unique<PrefixTree>(pool_, config.block_tokens)),
      swap_(config.swap_bytes, device) {
  if (disk_ == nullptr) return;
  CHECK_EQ(disk_->origin().page_bytes, device.page_bytes());
  CHECK_EQ(disk_->origin().block_tokens, config.block_tokens);
  key_maker_.emplace(disk_->origin());
  keys_.resize(static_cast<std::size_t>(config.pages));
  page_buffer_.resize(device.page_bytes());
}
PagedCache::~PagedCache() = default;

std::int32_t PagedCache::available() const noexcept { return pool_.free() + pool_.idle(); }

std::int32_t PagedCache::releasable(const BlockTable& table) const {
  const auto mine = [&](BlockId block) { return holders(block) == 1; };
  return static_cast<std::int32_t>(std::count_if(table.blocks().begin(), table.blocks().end(), mine));
}

std::int32_t PagedCache::holders(BlockId page) const {
  return pool_.references(page) - (pool_.published(page) ? 1 : 0);
}

PrefixMatch PagedCache::match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const {
  if (!config_.prefix_caching) return {.queried = static_cast<std::int64_t>(tokens.size())};
  PrefixMatch match = tree_->match(scope, tokens);
  if (disk_ != nullptr) match_disk(scope, tokens, match);
  return match;
}

std::int64_t PagedCache::attach(BlockTable& table, const PrefixMatch& match, TimePoint now) {
  CHECK(table.blocks().empty());
  counters_.queried_tokens += match.queried;
  std::size_t valid = 0;
  while (valid < match.pages.size() && tree_->holds(match.pages[valid], match.version)) ++valid;
  std::int64_t tokens = static_cast<std::int64_t>(valid) * config_.block_tokens;
  if (valid > 0) {
    table.share(std::span(match.pages).first(valid));
    table.set_cursor(tree_->touch(match.pages[valid - 1], tokens, now));
  }
  if (valid == match.pages.size()) {
    if (match.partial != kNoBlock) tokens += attach_partial(table, match);
    if (!match.disk.empty()) tokens += attach_from_disk(table, match);
  }
  counters_.hit_tokens += tokens;
  return tokens;
}

std::int64_t PagedCache::attach_partial(BlockTable& table, const PrefixMatch& match) {
  if (!tree_->holds(match.partial, match.version)) return 0;
  pool_.retain(match.partial);  // making room must not evict it
  std::vector<BlockId> copy;
  const bool room = allocate(1, table.blocks().empty() ? kNoBlock : table.blocks().back(), copy);
  if (room) {
    device_.copy(match.partial, copy[0]);
    ++counters_.copied_pages;
    table.adopt(copy[0]);
  }
  pool_.release(match.partial);
  return room ? match.partial_tokens : 0;
}

bool PagedCache::allocate(std::int32_t n, BlockId after, std::vector<BlockId>& out) {
  if (n > available()) return false;
  if (n > pool_.free()) counters_.evicted_pages += tree_->evict(n - pool_.free(), tree_->now());
  return pool_.allocate(n, after, out);
}

void PagedCache::give_back(std::int32_t part) {
  device_.give_back(part, [this](BlockId page) {
    return pool_.references(page) > 0 || (page > 0 && pool_.references(page - 1) > 0);
  });
}

std::int32_t PagedCache::shrink(std::int32_t most, std::int32_t at_once, TimePoint now) {
  const std::int32_t n = std::min(pool_.idle() - most, at_once);
  if (n <= 0) return 0;
  const std::int32_t evicted = tree_->evict(n, now);
  counters_.evicted_pages += evicted;
  return evicted;
}

// Whether writing positions from `computed` on into this page would be seen by others.
bool PagedCache::shared(const BlockTable& table, std::size_t page, std::int64_t computed) const {
  const BlockId block = table.blocks()[page];
  const std::int32_t others = pool_.references(block) - 1;
  if (others == 0) return false;
  const std::int64_t kept = computed - static_cast<std::int64_t>(page) * config_.block_tokens;
  return others > 1 || !pool_.published(block) || tree_->tokens_in(block) > kept;
}

std::int32_t PagedCache::needed(const BlockTable& table, std::int64_t computed, std::int64_t tokens) const {
  std::int32_t pages = table.missing(tokens);
  const std::size_t written = std::min(table.blocks().size(), table.pages_for(tokens));
  for (auto page = static_cast<std::size_t>(computed / config_.block_tokens); page < written; ++page) {
    if (shared(table, page, computed)) ++pages;
  }
  return pages;
}

bool PagedCache::reserve(BlockTable& table, std::int64_t computed, std::int64_t tokens) {
  const std::int32_t pages = needed(table, computed, tokens);
  table.rewind(computed);
  if (pages == 0) return true;
  if (pages > available()) return false;
  if (pages > pool_.free()) counters_.evicted_pages += tree_->evict(pages - pool_.free(), tree_->now());
  const auto first = static_cast<std::size_t>(computed / config_.block_tokens);
  const std::size_t written = std::min(table.blocks().size(), table.pages_for(tokens));
  std::vector<BlockId> copy;
  for (std::size_t page = first; page < written; ++page) {
    if (!shared(table, page, computed)) continue;
    copy.clear();
    CHECK(pool_.allocate(1, page > 0 ? table.blocks()[page - 1] : kNoBlock, copy));
    if (computed > static_cast<std::int64_t>(page) * config_.block_tokens) {  // else nothing of it is kept
      device_.copy(table.blocks()[page], copy[0]);
      ++counters_.copied_pages;
    }
    table.replace(page, copy[0]);
  }
  return table.reserve(tokens);
}

void PagedCache::publish(const PrefixScope& scope, BlockTable& table, std::span<const std::int32_t> tokens,
                         bool partial, const Retention& retention, TimePoint now) {
  auto n = static_cast<std::int64_t>(tokens.size());
  if (!partial) n -= n % config_.block_tokens;
  if (!config_.prefix_caching || (n <= table.cursor().tokens && tree_->current(table.cursor()))) return;
  PublishCursor cursor = table.cursor();
  const NewPages added =
      tree_->publish(scope, tokens.first(static_cast<std::size_t>(n)), table.blocks(), retention, now, cursor);
  table.set_cursor(cursor);
  if (disk_ != nullptr && added.pages > 0) write_to_disk(scope, table, tokens, added);
}

void PagedCache::forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from) {
  const std::vector<BlockId> gone = tree_->forget(scope, tokens, from);
  if (disk_ == nullptr) return;
  for (const BlockId block : gone) disk_->remove(keys_[static_cast<std::size_t>(block)]);
}

void PagedCache::clear() { counters_.evicted_pages += tree_->evict(pool_.idle(), tree_->now()); }

std::optional<SwapTicket> PagedCache::swap_out(BlockTable& table, std::int64_t tokens) {
  auto ticket = swap_.store(table.blocks().first(std::min(table.blocks().size(), table.pages_for(tokens))));
  if (!ticket) return ticket;
  counters_.swapped_out_pages += ticket->pages();
  table.truncate(0);
  return ticket;
}

bool PagedCache::swap_in(SwapTicket& ticket, BlockTable& table) {
  if (!reserve(table, 0, ticket.pages() * config_.block_tokens)) return false;
  swap_.load(ticket, table.blocks());
  counters_.swapped_in_pages += ticket.pages();
  return true;
}

PageContents PagedCache::export_pages(const BlockTable& table, std::int64_t tokens) const {
  const std::size_t bytes = page_bytes(), companion = device_.companion().page_bytes;
  const auto pages = table.blocks().first(pages_for(tokens));
  PageContents out{std::vector<std::byte>(pages.size() * bytes), std::vector<std::byte>(pages.size() * companion)};
  for (std::size_t i = 0; i < pages.size(); ++i) {
    device_.read(pages[i], std::span(out.pages).subspan(i * bytes, bytes));
    if (companion == 0) continue;
    device_.read_companion(pages[i], std::span(out.companions).subspan(i * companion, companion));
  }
  return out;
}

PageContents PagedCache::export_pages(const SwapTicket& ticket, std::int64_t tokens) const {
  return swap_.contents(ticket, pages_for(tokens));
}

CacheUse PagedCache::use() const {
  return {.total = pool_.total(),
          .free = pool_.free(),
          .cached = pool_.idle(),
          .used = pool_.used() - pool_.idle(),
          .swap_used_pages = swap_.used(),
          .published = tree_->pages()};
}

void PagedCache::check_integrity(std::span<const BlockTable* const> tables) const {
  pool_.check_integrity();
  tree_->check_integrity();
  std::vector<std::int32_t> references(static_cast<std::size_t>(pool_.total()), 0);
  for (BlockId block = 0; block < pool_.total(); ++block) {
    if (pool_.published(block)) ++references[static_cast<std::size_t>(block)];
  }
  std::vector<const BlockTable*> last_in(references.size(), nullptr);
  std::int32_t used = 0;
  for (const BlockTable* table : tables) {
    for (const BlockId block : table->blocks()) {
      const auto i = static_cast<std::size_t>(block);
      CHECK(last_in[i] != table);  // twice in one table
      if (last_in[i] == nullptr) ++used;
      last_in[i] = table;
      ++references[i];
    }
    CHECK_LE(table->cursor().tokens, table->capacity_tokens());
  }
  for (std::size_t i = 0; i < references.size(); ++i) {
    CHECK_EQ(references[i], pool_.references(static_cast<BlockId>(i)));
  }
  const CacheUse now = use();
  CHECK_EQ(used, now.used);
  CHECK_EQ(now.free + now.cached + now.used, now.total);
}

}  // namespace millrace::kv
