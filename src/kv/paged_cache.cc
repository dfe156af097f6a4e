#include "kv/paged_cache.h"

#include <algorithm>

#include "base/check.h"
#include "kv/disk_tier.h"
#include "kv/prefix_tree.h"
#include "kv/window_match.h"

namespace millrace::kv {
namespace {

void check_window(const WindowPages& window, const BlockPool& pool, std::span<const BlockTable* const> tables) {
  window.check_integrity(pool);
  std::vector<std::int32_t> holders(static_cast<std::size_t>(pool.total()), 0);
  for (const BlockTable* table : tables) {
    CHECK_EQ(table->window_blocks().size(), table->blocks().size());
    CHECK_LE(table->behind(), table->blocks().size());
    for (std::size_t i = table->behind(); i < table->blocks().size(); ++i) {
      CHECK_EQ(table->window_blocks()[i], window.of(table->blocks()[i]));
      ++holders[static_cast<std::size_t>(table->blocks()[i])];
    }
  }
  std::int32_t used = 0;
  for (BlockId page = 0; page < pool.total(); ++page) {
    CHECK_EQ(holders[static_cast<std::size_t>(page)], window.holders(page));
    used += holders[static_cast<std::size_t>(page)] > 0 ? 1 : 0;
  }
  CHECK_EQ(used + window.idle() + window.free(), window.total());  // none is lost
}

}  // namespace

PagedCache::PagedCache(const CacheConfig& config, PageDevice& device, DiskTier* disk)
    : config_(config),
      device_(device),
      window_device_(device.windowed()),
      disk_(disk),
      pool_(config.pages, &device),
      window_(window_device_ == nullptr
                  ? nullptr
                  : std::make_unique<WindowPages>(config.window, config.block_tokens, config.pages, config.window_pages,
                                                  *window_device_)),
      tree_(std::make_unique<PrefixTree>(pool_, config.block_tokens, window_.get())),
      swap_(config.swap_bytes, device) {
  pool_.watch_publishing(window_.get());
  const std::int32_t least = min_window_pages(config.window, config.block_tokens);
  if (window_) CHECK_LE(std::min(least, config.pages), config.window_pages);
  if (disk_ == nullptr) return;
  CHECK_EQ(disk_->origin().page_bytes, page_bytes() + window_page_bytes());
  CHECK_EQ(disk_->origin().block_tokens, config.block_tokens);
  key_maker_.emplace(disk_->origin());
  keys_.resize(static_cast<std::size_t>(config.pages));
  page_buffer_.resize(page_bytes() + window_page_bytes());
}
PagedCache::~PagedCache() = default;

std::int32_t min_window_pages(std::int64_t window, std::int64_t block_tokens) noexcept {
  return static_cast<std::int32_t>((window - 1 + block_tokens - 1) / block_tokens + 3);
}

PageCount PagedCache::room() const noexcept {
  return {.pages = pool_.free() + pool_.idle(), .window = window_ ? window_->available() : 0};
}

std::int32_t PagedCache::available() const noexcept {
  const PageCount all = room();
  return window_ ? std::min(all.pages, all.window) : all.pages;
}

std::int32_t PagedCache::holders(BlockId page) const {
  return pool_.references(page) - (pool_.published(page) ? 1 : 0);
}

PrefixMatch PagedCache::match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const {
  if (!config_.prefix_caching) return {.queried = static_cast<std::int64_t>(tokens.size())};
  PrefixMatch match = tree_->match(scope, tokens);
  if (window_) cut_to_window(match, *window_, config_.block_tokens);
  if (disk_ != nullptr) match_disk(scope, tokens, match);
  if (window_) count_idle(match, *window_, pool_);
  return match;
}

std::int64_t PagedCache::attach(BlockTable& table, const PrefixMatch& match, TimePoint now) {
  CHECK(table.blocks().empty());
  counters_.queried_tokens += match.queried;
  std::size_t valid = 0;
  while (valid < match.pages.size() && tree_->holds(match.pages[valid], match.version)) ++valid;
  const std::int64_t goal = window_ ? attachable(match, *window_, config_.block_tokens, valid) : 0;
  const std::size_t behind = window_ ? window_->first_seen(goal) : 0;
  std::int64_t tokens = static_cast<std::int64_t>(valid) * config_.block_tokens;
  if (valid > 0) {
    table.share(std::span(match.pages).first(valid), behind);
    for (std::size_t i = table.behind(); window_ && i < valid; ++i) window_->found(match.pages[i]);
    table.set_cursor(tree_->touch(match.pages[valid - 1], tokens, now));
  }
  if (valid == match.pages.size()) {
    table.begin_behind(behind);  // of the pages to come, too
    if (match.partial != kNoBlock) tokens += attach_partial(table, match);
    if (!match.disk.empty()) tokens += attach_from_disk(table, match);
  }
  if (tokens < goal) tokens = rewind(table, tokens);
  counters_.hit_tokens += tokens;
  return tokens;
}

std::int64_t PagedCache::attach_partial(BlockTable& table, const PrefixMatch& match) {
  if (!tree_->holds(match.partial, match.version)) return 0;
  if (window_ && window_->of(match.partial) == kNoBlock) return 0;
  pool_.retain(match.partial);  // making room must not evict it
  if (window_) window_->retain(match.partial);
  const bool room = add_page(table);
  if (room) {
    device_.copy(match.partial, table.blocks().back());
    if (window_) {
      window_device_->copy(window_->of(match.partial), table.window_blocks().back());
      window_->found(match.partial);
    }
    ++counters_.copied_pages;
  }
  if (window_) window_->release(match.partial);
  pool_.release(match.partial);
  return room ? match.partial_tokens : 0;
}

bool PagedCache::add_page(BlockTable& table) {
  const bool window = window_ && table.blocks().size() >= table.behind();
  if (room().pages == 0 || (window && window_->available() == 0)) return false;
  if (pool_.free() == 0) counters_.evicted_pages += tree_->evict(1, tree_->now());
  return table.reserve(table.capacity_tokens() + config_.block_tokens);
}

std::int64_t PagedCache::rewind(BlockTable& table, std::int64_t tokens) const {
  if (window_) tokens = window_->reach(table.blocks(), tokens);
  table.truncate(tokens);
  if (window_) table.retake(std::min(window_->first_seen(tokens), table.behind()));
  return tokens;
}

void PagedCache::give_back(std::int32_t part) {
  const auto kept = [](const auto& in_use) {
    return [&in_use](BlockId page) { return in_use(page) || (page > 0 && in_use(page - 1)); };
  };
  const auto page = [this](BlockId one) { return pool_.references(one) > 0; };
  const auto window = [this](BlockId one) { return window_->in_use(one); };
  const std::int32_t parts = device_.memory_parts();
  part < parts ? device_.give_back(part, kept(page)) : window_device_->give_back(part - parts, kept(window));
}

std::int32_t PagedCache::shrink(std::int32_t most, std::int32_t at_once, TimePoint now) {
  std::int32_t evicted = 0;
  if (const std::int32_t n = std::min(pool_.idle() - most, at_once); n > 0) {
    evicted = tree_->evict(n, now);
    counters_.evicted_pages += evicted;
  }
  if (window_) evicted += window_->evict(std::min(window_->idle() - most, at_once));
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
  for (std::size_t page = first; page < written; ++page) {
    if (!shared(table, page, computed)) continue;
    copy_on_write(table, page, computed > static_cast<std::int64_t>(page) * config_.block_tokens);
  }
  return table.reserve(tokens);
}

// `keeps`: tokens of it are kept, so that it is a copy.
void PagedCache::copy_on_write(BlockTable& table, std::size_t page, bool keeps) {
  std::vector<BlockId> copy, window_copy;
  CHECK(pool_.allocate(1, page > 0 ? table.blocks()[page - 1] : kNoBlock, copy));
  if (window_) {
    CHECK(window_->take(copy, page > table.behind() ? table.window_blocks()[page - 1] : kNoBlock, window_copy));
  }
  if (keeps) {
    device_.copy(table.blocks()[page], copy[0]);
    if (window_) window_device_->copy(table.window_blocks()[page], window_copy[0]);
    ++counters_.copied_pages;
  }
  table.replace(page, copy[0], window_ ? window_copy[0] : kNoBlock);
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
  if (disk_ == nullptr) return;
  for (const auto& [from, to] : added.replaced)
    keys_[static_cast<std::size_t>(to)] = keys_[static_cast<std::size_t>(from)];
  if (added.pages > 0) write_to_disk(scope, table, tokens, added);
}

void PagedCache::forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from) {
  const std::vector<BlockId> gone = tree_->forget(scope, tokens, from);
  if (disk_ == nullptr) return;
  for (const BlockId block : gone) disk_->remove(keys_[static_cast<std::size_t>(block)]);
}

void PagedCache::clear(bool disk) {
  lost_ = false;
  counters_.evicted_pages += tree_->evict(pool_.idle(), tree_->now());
  if (disk && disk_ != nullptr) disk_->clear();
}

CacheUse PagedCache::use() const {
  return {.total = pool_.total(),
          .free = pool_.free(),
          .cached = pool_.idle(),
          .used = pool_.used() - pool_.idle(),
          .swap_used_pages = swap_.used(),
          .published = tree_->pages(),
          .window_total = window_ ? window_->total() : 0,
          .window_free = window_ ? window_->free() : 0,
          .window_cached = window_ ? window_->idle() : 0,
          .window_used = window_ ? window_->total() - window_->available() : 0,
          .page_bytes = page_bytes(),
          .window_page_bytes = window_page_bytes()};
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
  if (window_) check_window(*window_, pool_, tables);
  for (std::size_t i = 0; i < references.size(); ++i) {
    CHECK_EQ(references[i], pool_.references(static_cast<BlockId>(i)));
  }
  const CacheUse now = use();
  CHECK_EQ(used, now.used);
  CHECK_EQ(now.free + now.cached + now.used, now.total);
}

}  // namespace millrace::kv
