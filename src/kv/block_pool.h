#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::kv {

using BlockId = std::int32_t;

// The pages of the KV cache as numbers: which are free, and how many users each of the others has. Host logic only;
// owned by the engine thread. free() + used() == total() always; check_integrity() walks and proves it.
class BlockPool {
 public:
  explicit BlockPool(std::int32_t total);

  std::int32_t total() const noexcept { return static_cast<std::int32_t>(references_.size()); }
  std::int32_t free() const noexcept { return static_cast<std::int32_t>(free_.size()); }
  std::int32_t used() const noexcept { return total() - free(); }

  // Appends n blocks with one reference each to `out`, lowest numbers first so that a sequence tends to get neighbours;
  // false, and nothing changed, when fewer are free.
  bool allocate(std::int32_t n, std::vector<BlockId>& out);
  void retain(BlockId block);
  void release(BlockId block);  // frees it when it was the last reference
  std::int32_t references(BlockId block) const { return references_[static_cast<std::size_t>(block)]; }

  void check_integrity() const;

 private:
  std::vector<std::int32_t> references_;
  std::vector<BlockId> free_;  // a heap, smallest on top
};

// The pages of one sequence, in order of position; page i holds tokens [i*block_tokens, (i+1)*block_tokens). Releases
// them when destroyed. The pool must outlive it.
class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool, std::int64_t block_tokens) : pool_(&pool), block_tokens_(block_tokens) {}
  ~BlockTable() { truncate(0); }
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;

  std::span<const BlockId> blocks() const noexcept { return blocks_; }
  std::int64_t capacity_tokens() const noexcept { return static_cast<std::int64_t>(blocks_.size()) * block_tokens_; }
  // Pages that holding `tokens` tokens would still need.
  std::int32_t missing(std::int64_t tokens) const noexcept;
  // Makes room for `tokens` tokens; false, and nothing changed, when the pool has not enough.
  bool reserve(std::int64_t tokens);
  // Gives back the pages past `tokens` tokens.
  void truncate(std::int64_t tokens);

 private:
  BlockPool* pool_;
  std::int64_t block_tokens_;
  std::vector<BlockId> blocks_;
};

}  // namespace millrace::kv
