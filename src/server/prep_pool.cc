#include "server/prep_pool.h"

#include "base/log.h"
#include "base/thread_name.h"

namespace millrace::server {
PrepPool::PrepPool(int threads, std::size_t max_queued) : max_queued_(max_queued) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

PrepPool::~PrepPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool PrepPool::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= max_queued_ || stopping_) return false;
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void PrepPool::work() {
  name_thread("prepare");
  for (;;) {
    std::function<void()> next;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    try {
      next();
    } catch (const std::exception& error) {
      log::error("a request could not be prepared: {}", error.what());
    }
  }
}

}  // namespace millrace::server
