#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/env.h"
#include "kv/block_pool.h"
#include "kv/block_table.h"
#include "kv/eviction_order.h"
#include "kv/prefix_match.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

// What publish() added: whole pages [first, first + pages) of the sequence, the published page before them.
struct NewPages {
  std::int64_t first = 0, pages = 0;
  BlockId before = kNoBlock;
};

// Published pages by the tokens they hold: a radix tree whose edges are whole pages, and partial ones at its leaves
// (RadixAttention, arXiv:2312.07104). Identity is scope, parent and the tokens themselves, never a hash alone. The tree
// holds one reference to each page; a page that no table holds is idle and may be evicted, leaves first. Where only
// pages in use are left at the ends (a sequence computed for itself what another had published before), idle ones amid
// a path go too, and what stands on them is published no more.
class PrefixTree final : private IdleWatcher {
 public:
  PrefixTree(BlockPool& pool, std::int64_t block_tokens);
  ~PrefixTree() override;
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  PrefixMatch match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const;
  // Whether a page still holds what it held when match() named it.
  bool holds(BlockId block, std::uint64_t version) const;
  // A table of `tokens` tokens holds `block`, its last page, and those before it: they were used just now. Returns
  // where publishing will go on.
  PublishCursor touch(BlockId block, std::int64_t tokens, TimePoint now);
  bool current(const PublishCursor& cursor) const;  // what it says is published still is
  // Publishes tokens.size() tokens in `blocks`, from where the cursor is; moves the cursor. Pages that are published
  // already stay as they are; `blocks` are the caller's.
  NewPages publish(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks,
                   const Retention& retention, TimePoint now, PublishCursor& cursor);
  // Returns the whole pages that are published no more.
  std::vector<BlockId> forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from);

  std::int32_t pages() const noexcept { return pages_; }            // published
  std::int32_t evictable() const noexcept { return pool_.idle(); }  // all idle ones can go
  std::int64_t tokens_in(BlockId block) const;                      // of a page; 0: not published
  // Frees n idle pages or all there are, more where they lie under pages in use; O(log nodes) each. Returns how many.
  std::int32_t evict(std::int32_t n, TimePoint now);
  void relocate(BlockId from, BlockId to);           // a published page's contents have moved
  TimePoint now() const noexcept { return clock_; }  // the latest time it was told
  void check_integrity() const;

 private:
  // A place in the tree: so many tokens are found, the last of them in `node`.
  struct Place {
    PrefixNode* node = nullptr;
    std::int64_t tokens = 0;
  };
  Place descend(Place from, std::span<const std::int32_t> tokens) const;
  Place start(const PrefixScope& scope, const PublishCursor& cursor);
  PrefixNode& make_node(PrefixNode* parent, std::int64_t begin);
  PrefixNode& split(PrefixNode& node, std::size_t keep);  // returns the upper part: `keep` pages
  PrefixNode& parent_for_new_page(Place place);
  PrefixNode* best_child(const PrefixNode& node, std::span<const std::int32_t> rest) const;
  void append(PrefixNode& node, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks);
  void extend_partial(PrefixNode& node, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks);
  BlockId page_before(const PrefixNode& node, std::int64_t page) const;
  void raise(PrefixNode& node, const Retention& retention);
  // Keeps so many pages; what stands on the others goes too. Adds the whole ones among them to `gone`, if not null.
  void cut(PrefixNode& node, std::size_t keep, std::vector<BlockId>* gone = nullptr);
  void drop_page(BlockId block, PrefixNode& node);
  void destroy(PrefixNode& node);
  void rank(PrefixNode& node);
  void idle_changed(BlockId block, bool idle) override;
  PrefixNode*& owner(BlockId block) { return owners_[static_cast<std::size_t>(block)]; }
  void check_node(const PrefixNode& node) const;

  BlockPool& pool_;
  std::size_t block_tokens_;
  std::map<PrefixScope, PrefixNode*> roots_;
  std::vector<std::unique_ptr<PrefixNode>> nodes_;  // by id
  std::vector<std::int32_t> free_ids_;
  std::uint64_t generation_ = 0;
  std::vector<PrefixNode*> owners_;     // by page
  std::vector<std::uint64_t> version_;  // by page: when it was published
  std::uint64_t versions_ = 0;
  EvictionOrder order_;
  std::int32_t pages_ = 0;
  TimePoint clock_{};
};

}  // namespace millrace::kv
