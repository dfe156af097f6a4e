#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/env.h"
#include "kv/block_pool.h"
#include "kv/block_table.h"
#include "kv/eviction_order.h"
#include "kv/prefix_match.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

// What publish() added: the full pages [first, first + pages) of the sequence. Pages that it `replaced` by the
// sequence's own, which hold the same, had lost their window pages.
struct NewPages {
  std::int64_t first = 0, pages = 0;
  BlockId before = kNoBlock;
  std::vector<std::pair<BlockId, BlockId>> replaced = {};  // from, to
};

// Published pages by the tokens they hold: a radix tree with full pages on its edges and partial ones at its leaves
// (RadixAttention, arXiv:2312.07104). A page is identified by scope, parent and tokens, never by a hash alone. The tree
// holds one reference to each page; a page that no table holds is idle and may be evicted, leaves first. If all ends of
// paths are in use (a sequence computed again what another had published), idle pages within a path are evicted too,
// and the pages after them are no longer published. Engine thread only.
class PrefixTree final : private IdleWatcher {
 public:
  // `window`: the window pages of the pool's pages; null: none. Both outlive the tree.
  PrefixTree(BlockPool& pool, std::int64_t block_tokens, const WindowPages* window);
  ~PrefixTree() override;
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest published beginning of `tokens`. O(pages matched).
  PrefixMatch match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const;
  // Whether a page still holds what it held when match() returned `version`.
  bool holds(BlockId block, std::uint64_t version) const;
  // Marks pages as used now: `block`, the last page of a table of `tokens` tokens, and those before it. Returns the
  // cursor at which publish() of this table continues.
  PublishCursor touch(BlockId block, std::int64_t tokens, TimePoint now);
  bool current(const PublishCursor& cursor) const;  // whether what it says is published still is
  // Publishes tokens.size() tokens in `blocks`, from the cursor's position on, and moves the cursor. Pages published
  // already stay in the tree; the table keeps its own `blocks`.
  NewPages publish(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks,
                   const Retention& retention, TimePoint now, PublishCursor& cursor);
  // Withdraws the tokens from position `from` on. Returns the full pages that are no longer published.
  std::vector<BlockId> forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from);

  std::int32_t pages() const noexcept { return pages_; }            // published pages
  std::int32_t evictable() const noexcept { return pool_.idle(); }  // pages that evict() can free
  std::int64_t tokens_in(BlockId block) const;  // tokens published of a page; 0: it is not published
  // Frees n idle pages or as many as there are; more where pages in use follow on them. Returns how many. O(log nodes)
  // each.
  std::int32_t evict(std::int32_t n, TimePoint now);
  void relocate(BlockId from, BlockId to);           // the contents of a published page have moved to another
  TimePoint now() const noexcept { return clock_; }  // the latest time passed to any call
  void check_integrity() const;

 private:
  // A place in the tree: so many tokens are found, the last of them in `node`.
  struct Place {
    PrefixNode* node = nullptr;
    std::int64_t tokens = 0;
  };
  // A sequence's tokens, and from which page on, [0, INT64_MAX], its pages are those of a scope's `activated`.
  struct Path {
    std::span<const std::int32_t> tokens;
    std::string_view activated = {};
    std::size_t activated_page = 0;
    std::string_view activated_at(std::size_t at) const { return at < activated_page ? "" : activated; }
  };
  Path path_of(const PrefixScope& scope, std::span<const std::int32_t> tokens) const;
  PrefixNode* root_of(const PrefixScope& scope) const;  // null: nothing is published in it
  Place descend(Place from, const Path& path) const;
  Place start(const PrefixScope& scope, const PublishCursor& cursor);
  // All tokens are those of one `activated`, or of none.
  NewPages publish_path(Place from, const Path& path, std::span<const BlockId> blocks, const Retention& retention,
                        PublishCursor& cursor);
  PrefixNode& make_node(PrefixNode* parent, std::int64_t begin, std::string_view activated = {});
  PrefixNode& split(PrefixNode& node, std::size_t keep);  // returns the upper part: `keep` pages
  PrefixNode& parent_for_new_page(Place place);
  PrefixNode* best_child(const PrefixNode& node, const Path& path, std::size_t at) const;
  void append(PrefixNode& node, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks);
  void extend_partial(PrefixNode& node, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks);
  void replace_lost(Place from, Place to, std::span<const BlockId> blocks, NewPages& added);
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
  const WindowPages* window_;
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
