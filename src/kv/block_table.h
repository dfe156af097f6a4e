#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pool.h"

namespace millrace::kv {

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
  // Pages that holding `tokens` tokens would still need.
  std::int32_t missing(std::int64_t tokens) const noexcept;
  // Makes room for `tokens` tokens; false, and nothing changed, when the pool has not enough.
  bool reserve(std::int64_t tokens);
  // Gives back the pages past `tokens` tokens.
  void truncate(std::int64_t tokens);
  // Appends pages that others hold too; adds a reference to each.
  void share(std::span<const BlockId> blocks);
  // Page `index` becomes `block`, whose reference moves to the table; the old one is released.
  void replace(std::size_t index, BlockId block);

 private:
  BlockPool* pool_;
  std::int64_t block_tokens_;
  std::vector<BlockId> blocks_;
};

}  // namespace millrace::kv
