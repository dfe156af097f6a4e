#include "kv/block_pool.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace millrace::kv {

BlockPool::BlockPool(std::int32_t total) : references_(static_cast<std::size_t>(total), 0) {
  free_.reserve(static_cast<std::size_t>(total));
  for (BlockId b = 0; b < total; ++b) free_.push_back(b);  // ascending is a heap already
}

bool BlockPool::allocate(std::int32_t n, BlockId /*after*/, std::vector<BlockId>& out) {
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

}  // namespace millrace::kv
