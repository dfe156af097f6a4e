#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::server {

// A few threads that prepare requests: JSON, templates, tokenizing, grammars. Work whose client has left should return
// at once.
class PrepPool {
 public:
  explicit PrepPool(int threads, std::size_t max_queued = 4096);
  ~PrepPool();  // waits for work that has begun; queued work is not run
  // Queues `work`; any thread. False, and `work` is never run, where max_queued are queued or the pool is ending. An
  // exception that `work` throws is logged and dropped.
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
