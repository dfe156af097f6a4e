#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace millrace {

// Work that any number of workers can share, and that determines itself when it is done. See WorkerTeam::offer.
class TeamWork {
 public:
  virtual ~TeamWork() = default;
  virtual void work(int worker) noexcept = 0;
  // No worker is inside: it may be changed or destroyed, unless it is being offered.
  bool idle() const noexcept { return users_.load() == 0; }

 private:
  friend class WorkerTeam;
  std::atomic<std::int32_t> users_{0};
};

// A fixed team of threads; the calling thread is worker 0. One caller at a time. A call costs about half a microsecond
// while the team is awake: workers spin for a while after each call, then sleep on a futex.
class WorkerTeam {
 public:
  explicit WorkerTeam(int workers);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const noexcept { return static_cast<int>(threads_.size()) + 1; }

  // Offers `work` to the other workers, does it as worker 0, and ends the offer. A worker may join late or never, if
  // its processor is busy, and may still be inside when this returns: `work` must not be changed until it is idle().
  void offer(TeamWork& work);

  // Runs body(worker) once on each worker, worker in [0, size()), and returns when all are done. body must not throw.
  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_on_all(const_cast<void*>(static_cast<const void*>(&body)),
               [](void* context, int worker) { (*static_cast<Plain*>(context))(worker); });
  }

  // The contiguous piece of [0, items) for `worker` of `workers`: a multiple of `grain`, but for the last.
  struct Piece {
    std::int64_t begin, end;
  };
  static constexpr Piece piece(std::int64_t items, std::int64_t grain, int worker, int workers) noexcept {
    const std::int64_t units = (items + grain - 1) / grain;
    return {units * worker / workers * grain, std::min(items, units * (worker + 1) / workers * grain)};
  }

  // Splits [0, items) into one piece per worker and runs body(begin, end). The same worker gets the same piece for the
  // same sizes, so its caches stay warm.
  template <typename Body>
  void split(std::int64_t items, std::int64_t grain, Body&& body) {
    if (items <= grain || threads_.empty()) {
      if (items > 0) body(std::int64_t{0}, items);
      return;
    }
    run([&](int worker) {
      const Piece own = piece(items, grain, worker, size());
      if (own.begin < own.end) body(own.begin, own.end);
    });
  }

 private:
  using Entry = void (*)(void* context, int worker);
  // What run() offers: each worker does it once, however often it looks.
  struct OnAll final : TeamWork {
    void* context = nullptr;
    Entry entry = nullptr;
    std::uint64_t number = 0;
    std::vector<std::uint64_t> done;  // the number each worker did last
    std::atomic<std::int32_t> left{0};
    void work(int worker) noexcept override;
  };
  void run_on_all(void* context, Entry entry);
  void publish(TeamWork& work);
  void worker_loop(int worker);
  void join_work(int worker);

  std::vector<std::thread> threads_;
  OnAll on_all_;
  std::atomic<int> caller_cpu_{-1};                       // where the offer was made from
  const bool spread_;                                     // there are processors enough for each worker to have its own
  alignas(64) std::atomic<std::uint32_t> generation_{0};  // bumped with each offer
  std::atomic<TeamWork*> offered_{nullptr};
  alignas(64) std::atomic<std::int32_t> sleeping_{0};
  std::atomic<bool> stop_{false};
};

// Waits for another running thread: spins first, then yields the processor repeatedly, so that machines with more
// threads than processors make progress.
class SpinWait {
 public:
  void wait() noexcept;

 private:
  int spins_ = 0;
};

}  // namespace millrace
