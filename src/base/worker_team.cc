#include "base/worker_team.h"

#include <sched.h>

#include <algorithm>

namespace millrace {
namespace {

// About 50 us on a 3.6 GHz core: longer than the gaps between the operations of a step, shorter than anyone notices as
// load.
constexpr int kSpins = 4000;
// While waiting for the others at the end of a call, give the core away after this long: a machine may run more threads
// than cores.
constexpr int kSpinsBeforeYield = 20000;

void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// A worker on the caller's processor for this many calls in a row asks for another one.
constexpr int kSharedCallsBeforeMove = 8;

int usable_cpus() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  return sched_getaffinity(0, sizeof(usable), &usable) == 0 ? CPU_COUNT(&usable) : 1;
}

// Moves this thread to another of its processors, without tying it there.
void leave_cpu(int cpu) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0 || CPU_COUNT(&usable) < 2 || !CPU_ISSET(cpu, &usable)) return;
  cpu_set_t others = usable;
  CPU_CLR(cpu, &others);
  if (sched_setaffinity(0, sizeof(others), &others) == 0) sched_setaffinity(0, sizeof(usable), &usable);
}

}  // namespace

WorkerTeam::WorkerTeam(int workers) : spread_(workers <= usable_cpus()) {
  for (int i = 1; i < workers; ++i) threads_.emplace_back([this, i] { worker_loop(i); });
}

WorkerTeam::~WorkerTeam() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::start(void* context, Entry entry) {
  if (threads_.empty()) {
    entry(context, 0);
    return;
  }
  context_ = context;
  entry_ = entry;
  caller_cpu_ = sched_getcpu();
  running_.store(static_cast<std::int32_t>(threads_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1);  // sequentially consistent with the sleeping_ counter below and in worker_loop
  if (sleeping_.load() > 0) generation_.notify_all();
  entry(context, 0);
  for (int spins = 0; running_.load(std::memory_order_acquire) > 0; ++spins) {
    if (spins < kSpinsBeforeYield) {
      cpu_relax();
    } else {
      std::this_thread::yield();
    }
  }
}

void WorkerTeam::worker_loop(int worker) {
  std::uint32_t seen = 0;
  int shared_calls = 0;
  for (;;) {
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == seen) {
      if (++spins < kSpins) {
        cpu_relax();
        continue;
      }
      sleeping_.fetch_add(1);
      generation_.wait(seen);
      sleeping_.fetch_sub(1);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    // OPTIMIZATION: Linux may wake a worker on the processor of the caller and leave both there, as each looks idle
    // while it waits for the other: measured half the speed of two threads, for as long as the calls lasted.
    if (spread_ && caller_cpu_ >= 0) {
      shared_calls = sched_getcpu() == caller_cpu_ ? shared_calls + 1 : 0;
      if (shared_calls == kSharedCallsBeforeMove) {
        leave_cpu(caller_cpu_);
        shared_calls = 0;
      }
    }
    entry_(context_, worker);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace millrace
