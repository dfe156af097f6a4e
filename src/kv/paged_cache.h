#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/env.h"
#include "kv/block_table.h"
#include "kv/prefix_scope.h"
#include "kv/swap_space.h"

namespace millrace::kv {

class PrefixTree;
class PageArchive;

struct CacheConfig {
  std::int64_t block_tokens = 32;  // of a page: 1, 8, 16, 32, 64
  std::int32_t pages = 0;
  bool prefix_caching = true;
  std::size_t swap_bytes = 0;  // host memory for the pages of preempted sequences
};

// What of a sequence's beginning is in published pages.
struct PrefixMatch {
  std::vector<BlockId> pages;  // whole pages that fit
  BlockId partial = kNoBlock;  // one more whose first partial_tokens tokens fit: to be copied
  std::int64_t partial_tokens = 0;
  std::int64_t tokens = 0;  // in all
  std::int32_t idle = 0;    // of the pages, those in nobody's table: attaching them lessens available()
};

// Where each page is at this moment; free + cached + used == total.
struct CacheUse {
  std::int32_t total = 0, free = 0;
  std::int32_t cached = 0;  // published and in nobody's table: what eviction would free
  std::int32_t used = 0;    // in a table
  std::int64_t swap_used_pages = 0;
};

// Counts since the start.
struct CacheCounters {
  std::int64_t queried_tokens = 0, hit_tokens = 0;
  std::int64_t copied_pages = 0, evicted_pages = 0, swapped_out_pages = 0, swapped_in_pages = 0;
};

// All pages of one engine: which are free, shared, published or swapped out. Host logic, owned by the engine thread;
// moves contents through the PageDevice. Memory needed is taken from free pages first, then from published ones that
// nobody uses.
class PagedCache {
 public:
  // Device and archive (null: none) must outlive it.
  PagedCache(const CacheConfig& config, PageDevice& device, PageArchive* archive);
  ~PagedCache();

  std::int64_t block_tokens() const noexcept { return config_.block_tokens; }
  std::int32_t total_pages() const noexcept { return pool_.total(); }
  // Pages that reserve() could hand out now: free ones and what eviction would free.
  std::int32_t available() const noexcept;
  // By how much available() would grow if the table gave all its pages back: those that no other table holds.
  std::int32_t releasable(const BlockTable& table) const;
  BlockTable make_table() { return BlockTable(pool_, config_.block_tokens); }

  // The longest published beginning of `tokens`. Changes nothing; O(pages matched).
  PrefixMatch match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const;
  // Gives an empty table the matched pages; a partial one is copied if there is a page for it. Returns the tokens that
  // the table holds then.
  std::int64_t attach(BlockTable& table, const PrefixMatch& match, TimePoint now);

  // Pages that reserve(table, computed, tokens) would take: new ones, and a copy of a shared page that position
  // `computed` lies in.
  std::int32_t needed(const BlockTable& table, std::int64_t computed, std::int64_t tokens) const;
  // Makes pages for `tokens` tokens of which those from `computed` on will be written: nobody else sees these. False,
  // and nothing changed but evictions, where available() is less than needed().
  bool reserve(BlockTable& table, std::int64_t computed, std::int64_t tokens);

  // Lets others find the pages of the tokens computed so far: whole pages, and with `partial` the last one too, if it
  // is not whole. Cheap when called again with a few tokens more.
  void publish(const PrefixScope& scope, const BlockTable& table, std::span<const std::int32_t> tokens, bool partial,
               const Retention& retention, TimePoint now);
  // Forgets what is published of these tokens, as nothing may be built on it (a failed step).
  void forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from);
  void clear();  // all that nobody uses

  // Moves the table's contents to host memory and empties it; nothing, and no change, where swap space is short.
  std::optional<SwapTicket> swap_out(BlockTable& table, std::int64_t tokens);
  // And back into an empty table; false, and no change, where pages are short.
  bool swap_in(SwapTicket& ticket, BlockTable& table);

  // In an idle step: moves pages so that sequences lie in long runs; at most `most` copies. Returns those made.
  std::int32_t compact(std::span<BlockTable* const> tables, std::int32_t most);

  CacheUse use() const;
  const CacheCounters& counters() const noexcept { return counters_; }
  void check_integrity(
      std::span<const BlockTable* const> tables) const;  // walks everything; DCHECK builds and simulation

 private:
  CacheConfig config_;
  PageDevice& device_;
  PageArchive* archive_;
  BlockPool pool_;
  std::unique_ptr<PrefixTree> tree_;
  SwapSpace swap_;
  CacheCounters counters_;
};

}  // namespace millrace::kv
