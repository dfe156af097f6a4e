#include "kv/block_table.h"

#include <algorithm>
#include <utility>

namespace millrace::kv {

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

bool BlockTable::reserve(std::int64_t tokens) {
  return pool_->allocate(missing(tokens), blocks_.empty() ? kNoBlock : blocks_.back(), blocks_);
}

void BlockTable::truncate(std::int64_t tokens) {
  const auto keep = static_cast<std::size_t>((tokens + block_tokens_ - 1) / block_tokens_);
  while (blocks_.size() > keep) {
    pool_->release(blocks_.back());
    blocks_.pop_back();
  }
}

void BlockTable::share(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) pool_->retain(block);
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
}

void BlockTable::replace(std::size_t index, BlockId block) { pool_->release(std::exchange(blocks_[index], block)); }

}  // namespace millrace::kv
