#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace millrace {

// A fixed team of threads for data-parallel loops; the calling thread is worker 0. One caller at a time. A call costs
// about a microsecond while the team is awake: workers spin for a while after each call, then sleep on a futex.
class WorkerTeam {
 public:
  explicit WorkerTeam(int workers);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const noexcept { return static_cast<int>(threads_.size()) + 1; }

  // Runs body(worker) once on each worker, worker in [0, size()), and returns when all are done. body must not throw.
  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    start(const_cast<void*>(static_cast<const void*>(&body)),
          [](void* context, int worker) { (*static_cast<Plain*>(context))(worker); });
  }

  // Splits [0, items) into one contiguous piece a worker (pieces are multiples of `grain` but for the last) and runs
  // body(begin, end). The same worker gets the same piece for the same sizes, so its caches stay warm.
  template <typename Body>
  void split(std::int64_t items, std::int64_t grain, Body&& body) {
    const std::int64_t units = (items + grain - 1) / grain;
    if (units <= 1 || threads_.empty()) {
      if (items > 0) body(std::int64_t{0}, items);
      return;
    }
    const std::int64_t workers = size();
    run([&](int worker) {
      const std::int64_t begin = units * worker / workers * grain;
      const std::int64_t end = std::min(items, units * (worker + 1) / workers * grain);
      if (begin < end) body(begin, end);
    });
  }

 private:
  using Entry = void (*)(void* context, int worker);
  void start(void* context, Entry entry);
  void worker_loop(int worker);

  std::vector<std::thread> threads_;
  void* context_ = nullptr;
  Entry entry_ = nullptr;
  int caller_cpu_ = -1;                                   // where this call was made from
  const bool spread_;                                     // there are processors enough for each worker to have its own
  alignas(64) std::atomic<std::uint32_t> generation_{0};  // bumped once a call
  alignas(64) std::atomic<std::int32_t> running_{0};      // workers that have not finished this call
  alignas(64) std::atomic<std::int32_t> sleeping_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace millrace
