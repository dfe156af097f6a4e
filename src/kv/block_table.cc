#include "kv/block_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kv/window_pages.h"

namespace millrace::kv {

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_),
      window_(other.window_),
      block_tokens_(other.block_tokens_),
      blocks_(std::exchange(other.blocks_, {})),
      window_blocks_(std::exchange(other.window_blocks_, {})),
      behind_(std::exchange(other.behind_, 0)),
      cursor_(std::exchange(other.cursor_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(window_, other.window_);
  std::swap(block_tokens_, other.block_tokens_);
  std::swap(blocks_, other.blocks_);
  std::swap(window_blocks_, other.window_blocks_);
  std::swap(behind_, other.behind_);
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
  if (n == 0) return true;
  const std::size_t first = blocks_.size();
  if (window_ != nullptr && n > pool_->free()) return false;
  if (!pool_->allocate(n, blocks_.empty() ? kNoBlock : blocks_.back(), blocks_)) return false;
  if (window_ == nullptr || take_window_pages(first)) return true;
  for (; blocks_.size() > first; blocks_.pop_back()) pool_->release(blocks_.back());
  return false;
}

// For the pages from the first on, but those behind; none of them has one.
bool BlockTable::take_window_pages(std::size_t first) {
  const std::size_t had = window_blocks_.size(), begin = std::max(first, behind_);
  window_blocks_.resize(std::max(had, std::min(begin, blocks_.size())), 0);
  if (begin >= blocks_.size()) return true;
  const BlockId after = begin > behind_ && begin > 0 ? window_blocks_[begin - 1] : kNoBlock;
  if (window_->take(std::span(blocks_).subspan(begin), after, window_blocks_)) return true;
  window_blocks_.resize(had);
  return false;
}

void BlockTable::truncate(std::int64_t tokens) {
  rewind(tokens);
  const std::size_t keep = pages_for(tokens);
  while (blocks_.size() > keep) {
    if (window_ != nullptr) {
      if (blocks_.size() > behind_) window_->release(blocks_.back());
      window_blocks_.pop_back();
    }
    pool_->release(blocks_.back());
    blocks_.pop_back();
  }
  behind_ = std::min(behind_, blocks_.size());
}

void BlockTable::share(std::span<const BlockId> blocks, std::size_t behind) {
  for (const BlockId block : blocks) pool_->retain(block);
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  if (window_ == nullptr) return;
  if (window_blocks_.empty()) behind_ = std::min(behind, blocks_.size());
  for (std::size_t i = window_blocks_.size(); i < blocks_.size(); ++i) {
    if (i >= behind_) window_->retain(blocks_[i]);
    window_blocks_.push_back(i >= behind_ ? window_->of(blocks_[i]) : 0);
  }
}

void BlockTable::release_behind(std::int64_t next) {
  if (window_ == nullptr) return;
  const std::size_t end = std::min(window_->first_seen(next), blocks_.size());
  for (; behind_ < end; ++behind_) {
    window_->release(blocks_[behind_], true);
    window_blocks_[behind_] = 0;
  }
}

void BlockTable::retake(std::size_t first) {
  for (; behind_ > first; --behind_) {
    const BlockId block = blocks_[behind_ - 1];
    window_->retain(block);
    window_blocks_[behind_ - 1] = window_->of(block);
  }
}

void BlockTable::take_rest(std::size_t first, BlockTable& other) {
  truncate(static_cast<std::int64_t>(first) * block_tokens_);
  if (other.blocks_.size() <= first) return;
  const auto rest = other.blocks_.begin() + static_cast<std::ptrdiff_t>(first);
  blocks_.insert(blocks_.end(), rest, other.blocks_.end());
  other.blocks_.erase(rest, other.blocks_.end());
  if (window_ == nullptr) return;
  CHECK(behind_ <= first && other.behind_ <= first);
  const auto window_rest = other.window_blocks_.begin() + static_cast<std::ptrdiff_t>(first);
  window_blocks_.insert(window_blocks_.end(), window_rest, other.window_blocks_.end());
  other.window_blocks_.erase(window_rest, other.window_blocks_.end());
}

void BlockTable::replace(std::size_t index, BlockId block, BlockId window_block) {
  if (window_ != nullptr) {
    CHECK_LE(behind_, index);
    window_->release(blocks_[index]);
    window_blocks_[index] = window_block;
  }
  rename(index, block);
}

void BlockTable::rename(std::size_t index, BlockId block) { pool_->release(std::exchange(blocks_[index], block)); }

void BlockTable::rewind(std::int64_t tokens) noexcept {
  if (tokens < cursor_.tokens) cursor_ = {};
}

}  // namespace millrace::kv
