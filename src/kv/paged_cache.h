#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/env.h"
#include "kv/block_table.h"
#include "kv/page_count.h"
#include "kv/prefix_match.h"
#include "kv/prefix_scope.h"
#include "kv/swap_space.h"
#include "kv/window_pages.h"

namespace millrace::kv {

class PrefixTree;
class DiskTier;
struct NewPages;

// Sizes that stay while the cache exists.
struct CacheConfig {
  std::int64_t block_tokens = 32;  // tokens of a page: 1, 8, 16, 32 or 64
  std::int32_t pages = 0;
  bool prefix_caching = true;
  std::size_t swap_bytes = 0;  // host memory for the pages of preempted sequences
  // Where the device has layers with a window apart (PageDevice::windowed()): the largest of their windows, and their
  // window pages, at least min_window_pages() of them or as many as pages.
  std::int64_t window = 0;
  std::int32_t window_pages = 0;
};

// Number of pages in each state. free + cached + used == total, of window pages too.
struct CacheUse {
  std::int32_t total = 0, free = 0;
  std::int32_t cached = 0;  // published and in no table: eviction can free them
  std::int32_t used = 0;    // in at least one table
  std::int64_t swap_used_pages = 0;
  std::int32_t published = 0;                                                          // in the tree, cached or used
  std::int32_t window_total = 0, window_free = 0, window_cached = 0, window_used = 0;  // window pages
  std::size_t page_bytes = 0, window_page_bytes = 0;

  // Bytes of the keys and values that tables hold, and the same as a share of all.
  std::size_t used_bytes() const noexcept {
    return static_cast<std::size_t>(used) * page_bytes + static_cast<std::size_t>(window_used) * window_page_bytes;
  }
  double used_share() const noexcept {
    if (window_total == 0) return static_cast<double>(used) / std::max(1.0, static_cast<double>(total));
    const auto all = static_cast<double>(static_cast<std::size_t>(total) * page_bytes +
                                         static_cast<std::size_t>(window_total) * window_page_bytes);
    return static_cast<double>(used_bytes()) / all;
  }
};

// Counts since the start.
struct CacheCounters {
  std::int64_t queried_tokens = 0, hit_tokens = 0;
  std::int64_t copied_pages = 0, evicted_pages = 0, moved_pages = 0, swapped_out_pages = 0, swapped_in_pages = 0,
               loaded_pages = 0;
};

// Window pages with which a sequence of the longest kind can always go on: those its next token sees, and the pages of
// that token and of a copy.
std::int32_t min_window_pages(std::int64_t window, std::int64_t block_tokens) noexcept;

// All pages of one engine: which are free, shared, published or swapped out. Host logic; contents are moved by the
// PageDevice. New pages come from the free ones first, then by evicting published ones that no sequence uses. Engine
// thread only.
class PagedCache {
 public:
  // Device and disk tier (null: none) must outlive the cache. The disk tier's pages must have the size of a page and a
  // window page of the device together.
  PagedCache(const CacheConfig& config, PageDevice& device, DiskTier* disk);
  ~PagedCache();

  std::int64_t block_tokens() const noexcept { return config_.block_tokens; }
  std::int32_t total_pages() const noexcept { return pool_.total(); }
  // Pages that reserve() could hand out now: free ones and what eviction would free, each with its window page.
  std::int32_t available() const noexcept;
  PageCount room() const noexcept;                                      // as available(), pages and window pages apart
  const WindowPages* window() const noexcept { return window_.get(); }  // null where no layer has a window
  std::int32_t holders(BlockId page) const;                             // number of tables that hold it
  BlockTable make_table() { return BlockTable(pool_, config_.block_tokens, window_.get()); }

  // Sets the measured cost of computing the tokens of one page. Pages are loaded from the disk tier only if that is
  // faster. 0, the initial value: never.
  void set_recompute_ms_per_page(double ms) noexcept { recompute_ms_per_page_ = ms; }

  // The longest published beginning of `tokens`. Changes nothing. The match may be used in a later step: attach()
  // notices pages that were evicted meanwhile. O(pages matched).
  PrefixMatch match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const;
  // Gives an empty table the matched pages. Pages on disk are loaded into new pages, and a partial page is copied if a
  // page is available for it. Returns the tokens that the table holds then: fewer than match.tokens where pages are
  // short or were evicted since the match. All attach() calls of a step must precede its reserve() calls.
  std::int64_t attach(BlockTable& table, const PrefixMatch& match, TimePoint now);

  // The number of pages that reserve(table, computed, tokens) would take: new ones, and copies of shared pages with
  // positions from `computed` on. A page that only the tree shares needs no copy if the tokens published of it end at
  // `computed`, since the tree does not read beyond them.
  std::int32_t needed(const BlockTable& table, std::int64_t computed, std::int64_t tokens) const;
  // Makes the table hold `tokens` tokens, those from `computed` on in pages that no other table holds, so that they may
  // be written. False where available() is less than needed(); then nothing has changed but evictions.
  bool reserve(BlockTable& table, std::int64_t computed, std::int64_t tokens);

  // Publishes the pages of the tokens computed so far: whole pages and, with `partial`, the last one too if it is not
  // full. O(new pages); one comparison where nothing is new.
  void publish(const PrefixScope& scope, BlockTable& table, std::span<const std::int32_t> tokens, bool partial,
               const Retention& retention, TimePoint now);
  // Withdraws what is published of these tokens from position `from` on, for example after a failed step.
  void forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from);
  // Evicts all pages that no table holds; `disk`: and deletes what this model has in the disk tier, as it may be wrong.
  void clear(bool disk = false);
  // The device has lost the contents of all pages. Until the next clear(), none of what it says of them is kept
  // anywhere: it may work again before everybody who has pages has given them back.
  void lose() noexcept { lost_ = true; }

  // The sequence goes on after `tokens` of its tokens, or after the most of them behind which its window has kept what
  // it sees: the table is cut to these. Returns them; without windows always `tokens`.
  std::int64_t rewind(BlockTable& table, std::int64_t tokens) const;

  // Moves the contents of `tokens` tokens to host memory and empties the table. Nothing, and no change, where swap
  // space is short.
  std::optional<SwapTicket> swap_out(BlockTable& table, std::int64_t tokens);
  // Brings swapped pages back into an empty table; false, and nothing changed, where pages are short.
  bool swap_in(SwapTicket& ticket, BlockTable& table);

  // The contents of the pages of so many tokens: of a table, or of what was swapped out. Import is swap_in() of a
  // SwapTicket made of them. Changes nothing; reads page_bytes() and the companion of each page from the device.
  // Nothing where that has lost its pages.
  std::optional<PageContents> export_pages(const BlockTable& table, std::int64_t tokens) const;
  PageContents export_pages(const SwapTicket& ticket, std::int64_t tokens) const;
  std::size_t page_bytes() const noexcept { return device_.page_bytes(); }
  // Bytes of a window page; 0 where no layer has a window.
  std::size_t window_page_bytes() const noexcept { return window_device_ ? window_device_->page_bytes() : 0; }
  PageCompanion companion() const noexcept { return device_.companion(); }
  std::size_t pages_for(std::int64_t tokens) const noexcept {
    return static_cast<std::size_t>((tokens + config_.block_tokens - 1) / config_.block_tokens);
  }

  // Moves pages so that sequences lie in long extents, with at most `most` copies. Pages of several tables stay. Call
  // it only while no step is in flight. Returns the copies made; after 0 there is nothing to do until changes()
  // differs.
  std::int32_t compact(std::span<BlockTable* const> tables, std::int32_t most);

  // Gives the memory of free pages back to the system, in so many parts, except that of the page behind each page in
  // use: its table may grow. Call it only while no step is in flight. 0 parts: the device keeps its memory.
  std::int32_t memory_parts() const noexcept {
    return device_.memory_parts() + (window_device_ ? window_device_->memory_parts() : 0);
  }
  void give_back(std::int32_t part);
  // Evicts cached pages in the order of eviction until `most` are left, and as many window pages, but at most
  // `at_once`. Returns how many.
  std::int32_t shrink(std::int32_t most, std::int32_t at_once, TimePoint now);
  double recompute_ms_per_page() const noexcept { return recompute_ms_per_page_; }

  // A number that changes whenever pages are handed out or freed.
  std::uint64_t changes() const noexcept { return pool_.changes(); }

  CacheUse use() const;
  const CacheCounters& counters() const noexcept { return counters_; }
  // Walks everything and CHECKs it; `tables` must be all tables that there are. For debug builds and the simulator.
  void check_integrity(std::span<const BlockTable* const> tables) const;

 private:
  bool shared(const BlockTable& table, std::size_t page, std::int64_t computed) const;
  // Adds a page, evicting as needed; false, and nothing changed, where that is not enough.
  bool add_page(BlockTable& table);
  void copy_on_write(BlockTable& table, std::size_t page, bool keeps);
  std::int64_t attach_partial(BlockTable& table, const PrefixMatch& match);
  // The three that know the disk tier.
  void match_disk(const PrefixScope& scope, std::span<const std::int32_t> tokens, PrefixMatch& match) const;
  std::int64_t attach_from_disk(BlockTable& table, const PrefixMatch& match);
  void write_to_disk(const PrefixScope& scope, const BlockTable& table, std::span<const std::int32_t> tokens,
                     const NewPages& pages);
  bool intact() const noexcept { return !lost_ && device_.intact(); }
  std::int32_t join_runs(BlockTable& table, std::int32_t most);
  bool movable(const BlockTable& table, std::size_t first, std::size_t end) const;
  void move(BlockTable& table, std::size_t first, std::span<const BlockId> to);

  CacheConfig config_;
  PageDevice& device_;
  PageDevice* window_device_;  // null: no layers with a window apart
  DiskTier* disk_;
  mutable std::optional<PageKeyMaker> key_maker_;  // where there is a disk tier; it only saves allocations
  std::vector<PageKey> keys_;                      // by page, of whole published ones, where there is a disk tier
  std::vector<std::byte> page_buffer_;
  double recompute_ms_per_page_ = 0;
  BlockPool pool_;
  std::unique_ptr<WindowPages> window_;  // null where window_device_ is
  std::unique_ptr<PrefixTree> tree_;
  SwapSpace swap_;
  CacheCounters counters_;
  bool lost_ = false;
};

}  // namespace millrace::kv
