#include "kv/block_pool.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::kv {

BlockPool::BlockPool(std::int32_t total, PageDevice* device)
    : references_(static_cast<std::size_t>(total), 0),
      published_(static_cast<std::size_t>(total), 0),
      runs_(total),
      device_(device) {}

bool BlockPool::allocate(std::int32_t n, BlockId after, std::vector<BlockId>& out) {
  if (n > free()) return false;
  if (after != kNoBlock && n > 0) {
    const std::int32_t grown = std::min(n, free_behind(after));
    if (grown > 0) hand_out(after + 1, 0, grown, out);
    n -= grown;
  }
  while (n > 0) {
    const BlockId run = runs_.longest();
    const std::int32_t length = runs_.extent_at(run), taken = std::min(n, length);
    // No table grows into the extent at the beginning of the pool.
    hand_out(run, run == 0 ? 0 : (length - taken) / 4, taken, out);
    n -= taken;
  }
  return true;
}

BlockId BlockPool::next_table() const noexcept {
  const BlockId run = runs_.longest();
  return run == kNoBlock || run == 0 ? run : run + (runs_.extent_at(run) - 1) / 4;
}

bool BlockPool::allocate_run(std::int32_t n, std::int32_t room, std::vector<BlockId>& out) {
  const BlockId run = runs_.fitting(room);
  if (run == kNoBlock) return false;
  hand_out(run, 0, n, out);
  return true;
}

void BlockPool::hand_out(BlockId run, std::int32_t skip, std::int32_t n, std::vector<BlockId>& out) {
  ++changes_;
  runs_.take(run, skip, n);
  for (BlockId block = run + skip; block < run + skip + n; ++block) {
    references_[static_cast<std::size_t>(block)] = 1;
    out.push_back(block);
  }
  if (device_ != nullptr) device_->taken(run + skip, n, next_table());
}

void BlockPool::retain(BlockId block) {
  std::int32_t& count = references_[static_cast<std::size_t>(block)];
  CHECK_LT(0, count);
  if (count == 1 && published(block)) set_idle(block, false);
  ++count;
}

void BlockPool::release(BlockId block) {
  std::int32_t& count = references_[static_cast<std::size_t>(block)];
  CHECK_LT(0, count);
  ++changes_;
  if (--count == 0) {
    CHECK(!published(block));
    runs_.give(block);
    if (device_ != nullptr) device_->freed(block);
  } else if (count == 1 && published(block)) {
    set_idle(block, true);
  }
}

void BlockPool::publish(BlockId block) {
  CHECK(!published(block));
  retain(block);
  published_[static_cast<std::size_t>(block)] = 1;
  if (publish_watcher_ != nullptr) publish_watcher_->published(block);
}

void BlockPool::unpublish(BlockId block) {
  CHECK(published(block));
  if (publish_watcher_ != nullptr) publish_watcher_->unpublished(block);
  published_[static_cast<std::size_t>(block)] = 0;
  if (references(block) == 1) --idle_;
  release(block);
}

void BlockPool::set_idle(BlockId block, bool idle) {
  idle_ += idle ? 1 : -1;
  if (watcher_) watcher_->idle_changed(block, idle);
}

void BlockPool::check_integrity() const {
  runs_.check_integrity();
  std::int32_t used = 0, idle = 0;
  for (BlockId block = 0; block < total(); ++block) {
    CHECK_LE(0, references(block));
    if (references(block) > 0) ++used;
    if (published(block)) CHECK_LT(0, references(block));
    if (published(block) && references(block) == 1) ++idle;
    if (references(block) > 0) CHECK_EQ(runs_.extent_at(block), 0);
  }
  CHECK_EQ(used + free(), total());
  CHECK_EQ(idle, idle_);
}

}  // namespace millrace::kv
