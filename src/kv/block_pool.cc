#include "kv/block_pool.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"

namespace millrace::kv {

BlockPool::BlockPool(std::int32_t total) : references_(static_cast<std::size_t>(total), 0) {
  free_.reserve(static_cast<std::size_t>(total));
  for (BlockId b = 0; b < total; ++b) free_.push_back(b);  // ascending is a heap already
}

bool BlockPool::allocate(std::int32_t n, std::vector<BlockId>& out) {
  if (n > free()) return false;
  for (std::int32_t i = 0; i < n; ++i) {
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    references_[static_cast<std::size_t>(free_.back())] = 1;
    out.push_back(free_.back());
    free_.pop_back();
  }
  return true;
}

void BlockPool::retain(BlockId block) {
  std::int32_t& count = references_[static_cast<std::size_t>(block)];
  CHECK_LT(0, count);
  ++count;
}

void BlockPool::release(BlockId block) {
  std::int32_t& count = references_[static_cast<std::size_t>(block)];
  CHECK_LT(0, count);
  if (--count > 0) return;
  free_.push_back(block);
  std::push_heap(free_.begin(), free_.end(), std::greater<>());
}

void BlockPool::check_integrity() const {
  std::vector<bool> seen(references_.size(), false);
  for (const BlockId block : free_) {
    const auto i = static_cast<std::size_t>(block);
    CHECK(!seen[i]);
    CHECK_EQ(references_[i], 0);
    seen[i] = true;
  }
  for (std::size_t i = 0; i < references_.size(); ++i) CHECK_EQ(seen[i], references_[i] == 0);
}

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_), block_tokens_(other.block_tokens_), blocks_(std::exchange(other.blocks_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(block_tokens_, other.block_tokens_);
  std::swap(blocks_, other.blocks_);
  return *this;
}

std::int32_t BlockTable::missing(std::int64_t tokens) const noexcept {
  const std::int64_t needed = (tokens + block_tokens_ - 1) / block_tokens_ - static_cast<std::int64_t>(blocks_.size());
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, needed));
}

bool BlockTable::reserve(std::int64_t tokens) { return pool_->allocate(missing(tokens), blocks_); }

void BlockTable::truncate(std::int64_t tokens) {
  const auto keep = static_cast<std::size_t>((tokens + block_tokens_ - 1) / block_tokens_);
  while (blocks_.size() > keep) {
    pool_->release(blocks_.back());
    blocks_.pop_back();
  }
}

}  // namespace millrace::kv
