#include "base/worker_team.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "base/thread_name.h"

namespace millrace {
namespace {

// About 50 us on a 3.6 GHz core: longer than the gaps between the operations of a step, shorter than anyone notices as
// load.
constexpr int kSpins = 4000;
// While waiting for others that are at work, give the processor away after about 20 us.
constexpr int kSpinsBeforeYield = 2000;

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
  if (cpu < 0 || sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  if (CPU_COUNT(&usable) < 2 || !CPU_ISSET(cpu, &usable)) return;
  cpu_set_t others = usable;
  CPU_CLR(cpu, &others);
  if (sched_setaffinity(0, sizeof(others), &others) == 0) sched_setaffinity(0, sizeof(usable), &usable);
}

}  // namespace

WorkerTeam::WorkerTeam(int workers) : spread_(workers <= usable_cpus()) {
  on_all_.done.resize(static_cast<std::size_t>(workers));
  for (int i = 1; i < workers; ++i) threads_.emplace_back([this, i] { worker_loop(i); });
}

WorkerTeam::~WorkerTeam() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void SpinWait::wait() noexcept {
  if (++spins_ < kSpinsBeforeYield) {
    cpu_relax();
  } else {
    std::this_thread::yield();
  }
}

void WorkerTeam::publish(TeamWork& work) {
  caller_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  offered_.store(&work);
  generation_.fetch_add(1);  // sequentially consistent with the sleeping_ counter in worker_loop
  if (sleeping_.load() > 0) generation_.notify_all();
}

void WorkerTeam::offer(TeamWork& work) {
  if (!threads_.empty()) publish(work);
  work.work(0);
  offered_.store(nullptr);
}

void WorkerTeam::OnAll::work(int worker) noexcept {
  std::uint64_t& last = done[static_cast<std::size_t>(worker)];
  if (last == number) return;
  last = number;
  entry(context, worker);
  left.fetch_sub(1, std::memory_order_release);
}

void WorkerTeam::run_on_all(void* context, Entry entry) {
  if (threads_.empty()) {
    entry(context, 0);
    return;
  }
  on_all_.context = context;
  on_all_.entry = entry;
  ++on_all_.number;
  on_all_.left.store(size(), std::memory_order_relaxed);
  publish(on_all_);
  on_all_.work(0);
  for (SpinWait spin; on_all_.left.load(std::memory_order_acquire) > 0;) spin.wait();
  offered_.store(nullptr);
  for (SpinWait spin; !on_all_.idle();) spin.wait();
}

// The offer may be taken back, and another one made, at any moment: being counted comes first, then a second look.
void WorkerTeam::join_work(int worker) {
  TeamWork* work = offered_.load();
  if (work == nullptr) return;
  work->users_.fetch_add(1);
  if (offered_.load() == work) work->work(worker);
  work->users_.fetch_sub(1);
}

void WorkerTeam::worker_loop(int worker) {
  name_thread(fmt::format("worker-{}", worker));
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
    if (spread_) {
      const int caller = caller_cpu_.load(std::memory_order_relaxed);
      shared_calls = sched_getcpu() == caller ? shared_calls + 1 : 0;
      if (shared_calls == kSharedCallsBeforeMove) {
        leave_cpu(caller);
        shared_calls = 0;
      }
    }
    join_work(worker);
  }
}

}  // namespace millrace
