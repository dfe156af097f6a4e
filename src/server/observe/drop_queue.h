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

// From many threads to one, of bounded length: what comes while it is full is dropped and counted, so that no thread
// that serves ever waits for the writer. Thread-safe.
template <typename T>
class DropQueue {
 public:
  explicit DropQueue(std::size_t most) : max_(most) {}

  // False: dropped, as the queue is full or closed.
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
  // All there is, at once if there is anything, else after at most that time; nothing may have come.
  std::vector<T> take(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, wait, [&] { return closed_ || !items_.empty(); });
    return std::exchange(items_, {});
  }
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
