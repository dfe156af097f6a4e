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

struct CacheConfig {
  std::int64_t block_tokens = 32;  // of a page: 1, 8, 16, 32, 64
  std::int32_t pages = 0;
  bool prefix_caching = true;
  std::size_t swap_bytes = 0;  // host memory for the pages of preempted sequences
};

// Where each page is at this moment; free + cached + used == total.
struct CacheUse {
  std::int32_t total = 0, free = 0;
  std::int32_t cached = 0;  // published and in no table: what eviction would free
  std::int32_t used = 0;    // in a table
  std::int64_t swap_used_pages = 0;
  std::int32_t published = 0;  // idle or not
};

// Counts since the start.
struct CacheCounters {
  std::int64_t queried_tokens = 0, hit_tokens = 0;
  std::int64_t copied_pages = 0, evicted_pages = 0, moved_pages = 0, swapped_out_pages = 0, swapped_in_pages = 0,
               loaded_pages = 0;
};

// All pages of one engine: which are free, shared, published or swapped out. Host logic, owned by the engine thread;
// moves contents through the PageDevice. Memory needed is taken from free pages first, then from published ones that
// no sequence uses.
class PagedCache {
 public:
  // Device and disk tier (null: none) must outlive it. The disk tier's pages are the device's.
  PagedCache(const CacheConfig& config, PageDevice& device, DiskTier* disk);
  ~PagedCache();

  std::int64_t block_tokens() const noexcept { return config_.block_tokens; }
  std::int32_t total_pages() const noexcept { return pool_.total(); }
  // Pages that reserve() could hand out now: free ones and what eviction would free.
  std::int32_t available() const noexcept;
  // By how much available() would grow if the table gave all its pages back: those that no other table holds.
  std::int32_t releasable(const BlockTable& table) const;
  std::int32_t holders(BlockId page) const;  // tables that it is in
  BlockTable make_table() { return BlockTable(pool_, config_.block_tokens); }

  // What computing the tokens of a page costs, as the engine measures it: pages come from the disk tier only where
  // loading is faster. 0 (at first): never.
  void set_recompute_ms_per_page(double ms) noexcept { recompute_ms_per_page_ = ms; }

  // The longest published beginning of `tokens`. Changes nothing; O(pages matched). May be used in a later step: what
  // was evicted meanwhile is noticed.
  PrefixMatch match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const;
  // Gives an empty table the matched pages; those on disk are loaded into new pages, a partial one is copied if there
  // is a page for it. Returns the tokens that the table holds then: fewer than match.tokens where pages are short or
  // were evicted since the match. Attach all sequences of a step before reserving for any.
  std::int64_t attach(BlockTable& table, const PrefixMatch& match, TimePoint now);

  // Pages that reserve(table, computed, tokens) would take: new ones, and copies of shared pages that positions from
  // `computed` on lie in. A page that the tree has too is no such one if the tokens published of it end at `computed`:
  // what is behind them is not read.
  std::int32_t needed(const BlockTable& table, std::int64_t computed, std::int64_t tokens) const;
  // Makes pages for `tokens` tokens of which those from `computed` on will be written: no other table sees these.
  // False, and nothing changed but evictions, where available() is less than needed().
  bool reserve(BlockTable& table, std::int64_t computed, std::int64_t tokens);

  // Lets others find the pages of the tokens computed so far: whole pages, and with `partial` the last one too, if it
  // is not whole.
  // O(new pages), and a comparison where nothing is new.
  void publish(const PrefixScope& scope, BlockTable& table, std::span<const std::int32_t> tokens, bool partial,
               const Retention& retention, TimePoint now);
  // Forgets what is published of these tokens, as nothing may be built on it (a failed step).
  void forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from);
  void clear();  // all pages that are not in use

  // Moves the table's contents to host memory and empties it; nothing, and no change, where swap space is short.
  std::optional<SwapTicket> swap_out(BlockTable& table, std::int64_t tokens);
  // Brings swapped pages back into an empty table; false, and no change, where pages are short.
  bool swap_in(SwapTicket& ticket, BlockTable& table);

  // The contents of the pages of so many tokens, side by side: of a table, or of what was swapped out. Import is
  // swap_in() of a SwapTicket made of them. Changes nothing; reads page_bytes() a page from the device.
  std::vector<std::byte> export_pages(const BlockTable& table, std::int64_t tokens) const;
  std::vector<std::byte> export_pages(const SwapTicket& ticket, std::int64_t tokens) const;
  std::size_t page_bytes() const noexcept { return device_.page_bytes(); }
  std::size_t pages_for(std::int64_t tokens) const noexcept {
    return static_cast<std::size_t>((tokens + config_.block_tokens - 1) / config_.block_tokens);
  }

  // While nothing is launched: moves pages so that sequences lie in long runs; at most `most` copies. Returns those
  // made: 0 where no more can be done until changes() is another. Pages of several tables stay where they are.
  std::int32_t compact(std::span<BlockTable* const> tables, std::int32_t most);

  std::uint64_t changes() const noexcept { return pool_.changes(); }

  CacheUse use() const;
  const CacheCounters& counters() const noexcept { return counters_; }
  // Walks everything: `tables` are all there are. For debug builds and the simulator.
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
