#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "kv/block_pool.h"
#include "kv/page_device.h"

namespace millrace::kv {

// Memory in the layers with a window. It is fewer than there are pages: a page has a window page, a number of its own,
// while a table needs it, and a published one beyond that, until others want the memory. A table needs those of the
// pages that the window of its next token reaches, of those behind it none (docs/adr/028). Where layers have different
// windows the largest one counts for all. Host logic only. Engine thread only.
class WindowPages final : public PublishWatcher, private IdleWatcher {
 public:
  // `window` >= 1 tokens that a token sees, itself included. `total` window pages for `pages` pages; the device has the
  // window pages, and must outlive this.
  WindowPages(std::int64_t window, std::int64_t block_tokens, std::int32_t pages, std::int32_t total,
              PageDevice& device);

  std::int64_t window() const noexcept { return window_; }
  std::int32_t total() const noexcept { return pool_.total(); }
  std::int32_t free() const noexcept { return pool_.free(); }
  std::int32_t idle() const noexcept { return pool_.idle(); }  // of published pages, needed by no table
  std::int32_t available() const noexcept { return pool_.free() + pool_.idle(); }  // that take() could hand out

  // Window pages that a sequence needs at most when no step has more than a token of it.
  std::int32_t span() const noexcept {
    return static_cast<std::int32_t>((window_ + block_tokens_ - 1) / block_tokens_) + 1;
  }
  // The index of the first page of a sequence that its token at position `next`, or any later one, sees.
  std::size_t first_seen(std::int64_t next) const noexcept;
  // The most of the first `tokens` tokens in `pages` behind which a sequence can go on: all pages that its next token
  // sees have their window pages. O(pages).
  std::int64_t reach(std::span<const BlockId> pages, std::int64_t tokens) const noexcept;

  BlockId of(BlockId page) const noexcept { return numbers_[static_cast<std::size_t>(page)]; }  // kNoBlock: none
  bool in_use(BlockId number) const { return pool_.references(number) > 0; }                    // of a window page
  // How many tables need the page's window page.
  std::int32_t holders(BlockId page) const noexcept {
    const BlockId number = of(page);
    return number == kNoBlock ? 0 : pool_.references(number) - (pool_.published(number) ? 1 : 0);
  }

  // Gives each of the pages, which have none, a window page that one table needs, and appends their numbers to `out`;
  // evicts as needed. False, and nothing changed, where too few are available. Contiguous like BlockPool::allocate().
  bool take(std::span<const BlockId> pages, BlockId after, std::vector<BlockId>& out);
  void retain(BlockId page);  // a further table needs it; it has one
  // A table needs it no more; `behind`: as its window has left the page. It is free if the page is not published.
  void release(BlockId page, bool behind = false);
  void found(BlockId page) { found_[static_cast<std::size_t>(of(page))] = 1; }  // by a match: it is kept for longer
  void published(BlockId page) override;
  void unpublished(BlockId page) override;
  // The page is known under another number from now on.
  void renamed(BlockId from, BlockId to);
  // Frees n idle window pages, or as many as there are: first those that a window has left and that no match found,
  // then those idle for longest. Returns how many.
  std::int32_t evict(std::int32_t n);

  std::int64_t evicted() const noexcept { return evicted_; }  // since the start

  void check_integrity(const BlockPool& pages) const;

 private:
  void idle_changed(BlockId number, bool idle) override;
  void freed(BlockId page);

  std::int64_t window_, block_tokens_;
  BlockPool pool_;
  std::vector<BlockId> numbers_;     // by page: its window page
  std::vector<BlockId> pages_;       // by window page: its page
  std::vector<std::uint8_t> found_;  // by window page
  bool leaving_ = false;             // release() is for a page behind a window
  std::uint64_t clock_ = 0;
  std::int64_t evicted_ = 0;
  using Rank = std::pair<bool, std::uint64_t>;  // to be kept for longer; when it became idle
  std::vector<Rank> ranks_;                     // by window page, of idle ones
  std::map<Rank, BlockId> order_;               // of eviction
};

}  // namespace millrace::kv
