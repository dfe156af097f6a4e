#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::server {

// A few threads for what comes before the engine: JSON, templates, tokenizing. Work that is not waited for any more
// should look and return at once.
class PrepPool {
 public:
  explicit PrepPool(int threads, std::size_t max_queued = 4096);
  ~PrepPool();  // what is queued is not run
  // False: too much is queued.
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
