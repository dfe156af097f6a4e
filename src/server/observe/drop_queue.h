#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::server::observe {

// A queue of bounded length from many threads to one. Items pushed while it is full are dropped and counted, so that
// serving threads never wait for a slow consumer. Thread-safe.
template <typename T>
class DropQueue {
 public:
  // Holds at most `most` items.
  explicit DropQueue(std::size_t most) : max_(most) {}

  // False: the item was dropped and counted, as the queue is full or closed.
  bool push(T item) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= max_) {
        ++dropped_;
        return false;
      }
      items_.push_back(std::move(item));
    }
    wake_.notify_one();
    return true;
  }
  // Takes all items. Waits for the first one until `wait` has passed or the queue is closed; the result may be empty.
  std::vector<T> take(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, wait, [&] { return closed_ || !items_.empty(); });
    return std::exchange(items_, {});
  }
  // Later pushes drop their items; items in the queue can still be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  // Counts n items that were taken and then lost.
  void drop(std::int64_t n) { dropped_ += n; }
  std::int64_t dropped() const noexcept { return dropped_; }

 private:
  const std::size_t max_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<T> items_;
  bool closed_ = false;
  std::atomic<std::int64_t> dropped_ = 0;
};

}  // namespace millrace::server::observe
