#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pool.h"

namespace millrace::kv {

class WindowPages;

// How far the pages of a table are published, and where that is in the tree, so that publish() can continue there.
struct PublishCursor {
  std::int64_t tokens = 0;
  std::int32_t node = -1;
  std::uint64_t generation = 0;  // of the node: if it has changed, the path must be walked again
};

// The pages of one sequence, in order of position; page i holds tokens [i*block_tokens, (i+1)*block_tokens). A page
// with one reference may be written; a shared one must only be read. Where layers have a window, it needs the window
// pages of all but the first behind() pages. Releases its pages when destroyed. The pool must outlive it. Engine thread
// only.
class BlockTable {
 public:
  // `window`: the window pages of the pool's pages; null: no layer has a window.
  BlockTable(BlockPool& pool, std::int64_t block_tokens, WindowPages* window = nullptr)
      : pool_(&pool), window_(window), block_tokens_(block_tokens) {}
  ~BlockTable() { truncate(0); }
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;

  std::span<const BlockId> blocks() const noexcept { return blocks_; }
  // By page, its number in the layers with a window; of the first behind() pages it says nothing. Empty where there are
  // no such layers.
  std::span<const BlockId> window_blocks() const noexcept { return window_blocks_; }
  std::size_t behind() const noexcept { return behind_; }  // 0 where no layer has a window
  std::int64_t block_tokens() const noexcept { return block_tokens_; }
  std::int64_t capacity_tokens() const noexcept { return static_cast<std::int64_t>(blocks_.size()) * block_tokens_; }
  std::size_t pages_for(std::int64_t tokens) const noexcept {
    return static_cast<std::size_t>((tokens + block_tokens_ - 1) / block_tokens_);
  }
  // Pages that must be added before the table can hold `tokens` tokens.
  std::int32_t missing(std::int64_t tokens) const noexcept;
  // Tokens in extents that attention reads as one stream: extents of at least kLongExtentTokens, or the whole table.
  std::int64_t long_extent_tokens() const noexcept;
  // Tokens in the first page and in the pages that follow in memory on the page before them.
  std::int64_t contiguous_tokens() const noexcept;
  // Adds pages until the table can hold `tokens` tokens; false, and nothing changed, where the pool has too few.
  bool reserve(std::int64_t tokens);
  // Releases the pages behind the one with the last of `tokens` tokens.
  void truncate(std::int64_t tokens);
  // Appends pages that other tables or the tree hold, and adds a reference to each; to an empty table, of the first
  // `behind` without their window pages. The others have theirs.
  void share(std::span<const BlockId> blocks, std::size_t behind = 0);
  // Gives back the window pages that the token at position `next`, and later ones, do not see. No step in flight may
  // read from further before.
  void release_behind(std::int64_t next);
  // An empty table: the first `pages` pages that it gets will have no window pages.
  void begin_behind(std::size_t pages) noexcept { behind_ = pages; }
  // Needs the window pages from this page on (again), which they all have.
  void retake(std::size_t first);
  // Releases the pages from index `first` on, and takes those of `other` from there on. Both have the same pages
  // before.
  void take_rest(std::size_t first, BlockTable& other);
  // Page `index` becomes `block`, whose reference moves to the table; the old one is released. Where layers have a
  // window, `window_block` is its window page, taken for the table: the old one's is released.
  void replace(std::size_t index, BlockId block, BlockId window_block = kNoBlock);
  void rename(std::size_t index, BlockId block);  // as replace(), and it keeps its window page: WindowPages::renamed()

  const PublishCursor& cursor() const noexcept { return cursor_; }
  void set_cursor(const PublishCursor& cursor) noexcept { cursor_ = cursor; }
  // Tokens from position `tokens` on have changed: they count as not published.
  void rewind(std::int64_t tokens) noexcept;

 private:
  bool take_window_pages(std::size_t first);

  BlockPool* pool_;
  WindowPages* window_;
  std::int64_t block_tokens_;
  std::vector<BlockId> blocks_, window_blocks_;
  std::size_t behind_ = 0;
  PublishCursor cursor_;
};

// Tokens of an extent from which on it is read at full speed; scattered pages are read up to 1.5 times slower.
inline constexpr std::int64_t kLongExtentTokens = 512;

}  // namespace millrace::kv
