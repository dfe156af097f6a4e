#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::server {

// A few threads for the work before the engine: JSON, templates, tokenizing. Work whose client has left should check
// for that and return. Thread-safe.
class PrepPool {
 public:
  explicit PrepPool(int threads, std::size_t max_queued = 4096);
  ~PrepPool();  // waits for running work; queued work does not run
  // Queues `work`. False if max_queued items wait already.
  bool run(std::function<void()> work);

 private:
  void work();
  const std::size_t max_queued_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace millrace::server
