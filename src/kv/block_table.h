#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pool.h"

namespace millrace::kv {

// How far the pages of a table are published, and where that is in the tree: publishing goes on from there.
struct PublishCursor {
  std::int64_t tokens = 0;
  std::int32_t node = -1;
  std::uint64_t generation = 0;  // of the node: another one, and the path has to be walked again
};

// The pages of one sequence, in order of position; page i holds tokens [i*block_tokens, (i+1)*block_tokens). A page
// with one reference may be written, a shared one is only read. Releases its pages when destroyed. The pool must
// outlive it.
class BlockTable {
 public:
  BlockTable(BlockPool& pool, std::int64_t block_tokens) : pool_(&pool), block_tokens_(block_tokens) {}
  ~BlockTable() { truncate(0); }
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;

  std::span<const BlockId> blocks() const noexcept { return blocks_; }
  std::int64_t block_tokens() const noexcept { return block_tokens_; }
  std::int64_t capacity_tokens() const noexcept { return static_cast<std::int64_t>(blocks_.size()) * block_tokens_; }
  std::size_t pages_for(std::int64_t tokens) const noexcept {
    return static_cast<std::size_t>((tokens + block_tokens_ - 1) / block_tokens_);
  }
  // Pages that holding `tokens` tokens would still need.
  std::int32_t missing(std::int64_t tokens) const noexcept;
  // Tokens in extents that attention reads as one stream: of at least kLongExtentTokens, or the whole table.
  std::int64_t long_extent_tokens() const noexcept;
  // Tokens in pages that follow in memory on the page before them, and in the first page.
  std::int64_t contiguous_tokens() const noexcept;
  // Makes room for `tokens` tokens; false, and nothing changed, when the pool has not enough.
  bool reserve(std::int64_t tokens);
  // Gives back the pages past `tokens` tokens.
  void truncate(std::int64_t tokens);
  // Appends pages that others hold too; adds a reference to each.
  void share(std::span<const BlockId> blocks);
  void adopt(BlockId block) { blocks_.push_back(block); }  // its reference moves to the table
  // Gives back the pages from `first` on and takes those of a table that is alike until there, which loses them.
  void take_rest(std::size_t first, BlockTable& other);
  // Page `index` becomes `block`, whose reference moves to the table; the old one is released.
  void replace(std::size_t index, BlockId block);

  const PublishCursor& cursor() const noexcept { return cursor_; }
  void set_cursor(const PublishCursor& cursor) noexcept { cursor_ = cursor; }
  // Tokens from `tokens` on are other ones now.
  void rewind(std::int64_t tokens) noexcept;

 private:
  BlockPool* pool_;
  std::int64_t block_tokens_;
  std::vector<BlockId> blocks_;
  PublishCursor cursor_;
};

// Scattered pages are read up to 1.5 times slower than extents of so many tokens.
inline constexpr std::int64_t kLongExtentTokens = 512;

}  // namespace millrace::kv
