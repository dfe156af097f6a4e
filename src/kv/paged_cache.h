#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/env.h"
#include "kv/block_table.h"
#include "kv/prefix_match.h"
#include "kv/prefix_scope.h"
#include "kv/swap_space.h"

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
};

// Number of pages in each state. free + cached + used == total.
struct CacheUse {
  std::int32_t total = 0, free = 0;
  std::int32_t cached = 0;  // published and in no table: eviction can free them
  std::int32_t used = 0;    // in at least one table
  std::int64_t swap_used_pages = 0;
  std::int32_t published = 0;  // in the tree, cached or used
};

// Counts since the start.
struct CacheCounters {
  std::int64_t queried_tokens = 0, hit_tokens = 0;
  std::int64_t copied_pages = 0, evicted_pages = 0, moved_pages = 0, swapped_out_pages = 0, swapped_in_pages = 0,
               loaded_pages = 0;
};

// All pages of one engine: which are free, shared, published or swapped out. Host logic; contents are moved by the
// PageDevice. New pages come from the free ones first, then by evicting published ones that no sequence uses. Engine
// thread only.
class PagedCache {
 public:
  // Device and disk tier (null: none) must outlive the cache. The disk tier must have the device's page size.
  PagedCache(const CacheConfig& config, PageDevice& device, DiskTier* disk);
  ~PagedCache();

  std::int64_t block_tokens() const noexcept { return config_.block_tokens; }
  std::int32_t total_pages() const noexcept { return pool_.total(); }
  // Pages that reserve() could hand out now: free ones and what eviction would free.
  std::int32_t available() const noexcept;
  // By how much available() would grow if the table released all its pages: the number of those in no other table.
  std::int32_t releasable(const BlockTable& table) const;
  std::int32_t holders(BlockId page) const;  // number of tables that hold it
  BlockTable make_table() { return BlockTable(pool_, config_.block_tokens); }

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
  void clear();  // evicts all pages that no table holds

  // Moves the contents of `tokens` tokens to host memory and empties the table. Nothing, and no change, where swap
  // space is short.
  std::optional<SwapTicket> swap_out(BlockTable& table, std::int64_t tokens);
  // Brings swapped pages back into an empty table; false, and nothing changed, where pages are short.
  bool swap_in(SwapTicket& ticket, BlockTable& table);

  // The contents of the pages of so many tokens: of a table, or of what was swapped out. Import is swap_in() of a
  // SwapTicket made of them. Changes nothing; reads page_bytes() and the companion of each page from the device.
  PageContents export_pages(const BlockTable& table, std::int64_t tokens) const;
  PageContents export_pages(const SwapTicket& ticket, std::int64_t tokens) const;
  std::size_t page_bytes() const noexcept { return device_.page_bytes(); }
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
  std::int32_t memory_parts() const noexcept { return device_.memory_parts(); }
  void give_back(std::int32_t part);
  // Evicts cached pages in the order of eviction until `most` are left, but at most `at_once`. Returns how many.
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
  // Takes pages, evicting as needed; false, and nothing changed, where that is not enough.
  bool allocate(std::int32_t n, BlockId after, std::vector<BlockId>& out);
  std::int64_t attach_partial(BlockTable& table, const PrefixMatch& match);
  // The three that know the disk tier.
  void match_disk(const PrefixScope& scope, std::span<const std::int32_t> tokens, PrefixMatch& match) const;
  std::int64_t attach_from_disk(BlockTable& table, const PrefixMatch& match);
  void write_to_disk(const PrefixScope& scope, const BlockTable& table, std::span<const std::int32_t> tokens,
                     const NewPages& pages);
  std::int32_t join_runs(BlockTable& table, std::int32_t most);
  bool movable(const BlockTable& table, std::size_t first, std::size_t end) const;
  void move(BlockTable& table, std::size_t first, std::span<const BlockId> to);

  CacheConfig config_;
  PageDevice& device_;
  DiskTier* disk_;
  mutable std::optional<PageKeyMaker> key_maker_;  // where there is a disk tier; it only saves allocations
  std::vector<PageKey> keys_;                      // by page, of whole published ones, where there is a disk tier
  std::vector<std::byte> page_buffer_;
  double recompute_ms_per_page_ = 0;
  BlockPool pool_;
  std::unique_ptr<PrefixTree> tree_;
  SwapSpace swap_;
  CacheCounters counters_;
};

}  // namespace millrace::kv
