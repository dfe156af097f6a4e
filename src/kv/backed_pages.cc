#include "kv/backed_pages.h"

#include <algorithm>
#include <chrono>

#include "base/thread_name.h"

namespace millrace::kv {
namespace {

// After pages were handed out: the first step of a request touches its own itself, and needs the processors meanwhile.
constexpr std::chrono::milliseconds kDelay{300};
constexpr double kPause = 2.0;  // of the thread, in times of its work: steps need the processors more

}  // namespace

void BackedPages::follow() {
  if (windowed_) windowed_->follow();
  following_ = true;
  want(0);  // the first table begins there
  thread_ = std::jthread([this](const std::stop_token& stop) {
    name_thread("populate");
    run(stop);
  });
}

void BackedPages::populate() {
  if (windowed_) windowed_->populate();
  populated_ = true;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    name_thread("populate");
    store_.populate(0, store_.pages(), 0.0, stop);
  });
}

void BackedPages::wait_populated() {
  if (windowed_) windowed_->wait_populated();
  if (populated_ && thread_.joinable()) thread_.join();
}

void BackedPages::taken(BlockId first, std::int32_t n, BlockId next) {
  if (!following_ || n == 0) return;
  const std::int32_t slice = store_.slice_pages();
  for (BlockId page = first; page < first + n; page += slice) want(page);
  want(std::min(first + n - 1 + slice / 2, store_.pages() - 1));  // where the table may grow
  if (next != kNoBlock) want(next);
}

void BackedPages::want(BlockId page) {
  const std::size_t slice = slice_of(page);
  if (wanted_[slice]) return;
  wanted_[slice] = true;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(slice);
  }
  wake_.notify_one();
}

void BackedPages::give_back(std::int32_t part, const std::function<bool(BlockId)>& kept) {
  if (part == 0) {
    for (std::size_t slice = 0; slice < wanted_.size(); ++slice) {
      const auto begin = static_cast<BlockId>(slice) * store_.slice_pages();
      const BlockId end = std::min(begin + store_.slice_pages(), store_.pages());
      bool any = false;
      for (BlockId page = begin; page < end && !any; ++page) any = kept(page);
      if (!any) wanted_[slice] = false;
    }
  }
  store_.give_back(part, kept);
}

void BackedPages::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !queue_.empty(); })) {
    wake_.wait_for(lock, stop, kDelay, [] { return false; });
    if (stop.stop_requested()) return;
    const std::size_t slice = queue_.front();
    queue_.pop_front();
    lock.unlock();
    store_.populate(static_cast<BlockId>(slice) * store_.slice_pages(), store_.slice_pages(), kPause, stop);
    lock.lock();
  }
}

}  // namespace millrace::kv
