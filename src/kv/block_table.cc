#include "kv/block_table.h"

#include <algorithm>
#include <utility>

namespace millrace::kv {

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_),
      block_tokens_(other.block_tokens_),
      blocks_(std::exchange(other.blocks_, {})),
      cursor_(std::exchange(other.cursor_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(block_tokens_, other.block_tokens_);
  std::swap(blocks_, other.blocks_);
  std::swap(cursor_, other.cursor_);
  return *this;
}

std::int32_t BlockTable::missing(std::int64_t tokens) const noexcept {
  const std::size_t pages = pages_for(tokens);
  return pages > blocks_.size() ? static_cast<std::int32_t>(pages - blocks_.size()) : 0;
}

std::int64_t BlockTable::long_extent_tokens() const noexcept {
  std::int64_t long_extents = 0;
  for (std::size_t first = 0; first < blocks_.size();) {
    std::size_t end = first + 1;
    while (end < blocks_.size() && blocks_[end] == blocks_[end - 1] + 1) ++end;
    const std::int64_t tokens = static_cast<std::int64_t>(end - first) * block_tokens_;
    if (tokens >= kLongExtentTokens || end - first == blocks_.size()) long_extents += tokens;
    first = end;
  }
  return long_extents;
}

std::int64_t BlockTable::contiguous_tokens() const noexcept {
  std::int64_t pages = blocks_.empty() ? 0 : 1;
  for (std::size_t i = 1; i < blocks_.size(); ++i) pages += blocks_[i] == blocks_[i - 1] + 1 ? 1 : 0;
  return pages * block_tokens_;
}

bool BlockTable::reserve(std::int64_t tokens) {
  const std::int32_t n = missing(tokens);
  return n == 0 || pool_->allocate(n, blocks_.empty() ? kNoBlock : blocks_.back(), blocks_);
}

void BlockTable::truncate(std::int64_t tokens) {
  rewind(tokens);
  const std::size_t keep = pages_for(tokens);
  while (blocks_.size() > keep) {
    pool_->release(blocks_.back());
    blocks_.pop_back();
  }
}

void BlockTable::share(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) pool_->retain(block);
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
}

void BlockTable::take_rest(std::size_t first, BlockTable& other) {
  truncate(static_cast<std::int64_t>(first) * block_tokens_);
  if (other.blocks_.size() <= first) return;
  const auto rest = other.blocks_.begin() + static_cast<std::ptrdiff_t>(first);
  blocks_.insert(blocks_.end(), rest, other.blocks_.end());
  other.blocks_.erase(rest, other.blocks_.end());
}

void BlockTable::replace(std::size_t index, BlockId block) { pool_->release(std::exchange(blocks_[index], block)); }

void BlockTable::rewind(std::int64_t tokens) noexcept {
  if (tokens < cursor_.tokens) cursor_ = {};
}

}  // namespace millrace::kv
