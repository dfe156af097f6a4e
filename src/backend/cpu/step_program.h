#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/worker_team.h"

namespace millrace::backend::cpu {

// Distributes the items [0, n) of a phase in pieces, each item once. Every worker has a range of its own, the same in
// each step, so that its caches stay warm. A worker whose range is used up takes pieces of the others' ranges.
class PhaseItems {
 public:
  struct alignas(64) Range {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  // Pieces are multiples of `grain`, of at least one and at most `largest` items.
  PhaseItems(Range* ranges, int n_ranges, std::int64_t grain, std::int64_t largest)
      : ranges_(ranges), n_ranges_(n_ranges), grain_(grain), largest_(largest) {}

  // The next piece for `worker`; false when none is left. It is half of what a range still has, so that pieces are few,
  // and the last ones, on which other workers wait, are small.
  bool next(int worker, std::int64_t& begin, std::int64_t& end) noexcept {
    for (int i = 0; i < n_ranges_; ++i) {
      Range& range = ranges_[(worker + i) % n_ranges_];
      begin = range.next.load(std::memory_order_relaxed);
      while (begin < range.end) {
        const std::int64_t half = (range.end - begin) / 2 / grain_ * grain_;
        end = std::min(range.end, begin + std::min(largest_, std::max(grain_, half)));
        if (range.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) return true;
      }
    }
    return false;
  }

 private:
  Range* ranges_;
  int n_ranges_;
  std::int64_t grain_, largest_;
};

// The phases of the operations recorded since the last run. The team gets all of them at once; a phase begins when all
// items of the one before are done. A worker that comes late, for example because another process had its processor,
// finds its items done by others. Bodies are copied, must not throw, and may capture only trivially destructible
// values. Recording a phase costs about ten nanoseconds, and allocates nothing after the first step.
class StepProgram final : public TeamWork {
 public:
  explicit StepProgram(int workers) : workers_(workers) {}

  // Records body(begin, end, worker) over [0, items); each worker begins in its own contiguous range. Pieces are
  // multiples of `grain`, but for the last one.
  template <typename Body>
  void add_split(std::int64_t items, std::int64_t grain, Body body) {
    add(items, workers_, grain, items, body);
  }

  // Records body(item, worker) for each item of [0, items). Free workers take the items in order.
  template <typename Body>
  void add_tasks(std::int64_t items, Body body) {
    add(items, 1, 1, 1, [body](std::int64_t item, std::int64_t, int worker) { body(item, worker); });
  }

  void work(int worker) noexcept override;
  bool empty() const noexcept { return phases_.empty(); }
  void clear();

 private:
  struct alignas(64) Phase {
    void (*entry)(void* body, std::int64_t begin, std::int64_t end, int worker) = nullptr;
    void* body = nullptr;
    PhaseItems::Range* ranges = nullptr;
    int n_ranges = 0;
    std::int64_t items = 0, grain = 1, largest = 1;
    alignas(64) std::atomic<std::int64_t> done{0};
  };

  template <typename Body>
  void add(std::int64_t items, int ranges, std::int64_t grain, std::int64_t largest, Body body) {
    static_assert(std::is_trivially_destructible_v<Body>);
    if (items == 0) return;
    auto* phase = new (allocate(sizeof(Phase), alignof(Phase))) Phase;
    phase->entry = [](void* stored, std::int64_t begin, std::int64_t end, int worker) {
      (*static_cast<Body*>(stored))(begin, end, worker);
    };
    phase->body = new (allocate(sizeof(Body), alignof(Body))) Body(body);
    phase->items = items;
    phase->grain = grain;
    phase->largest = largest;
    phase->n_ranges = ranges;
    phase->ranges = make_ranges(items, grain, ranges);
    phases_.push_back(phase);
  }
  PhaseItems::Range* make_ranges(std::int64_t items, std::int64_t grain, int n);
  void* allocate(std::size_t bytes, std::size_t alignment);

  int workers_;
  std::vector<Phase*> phases_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t chunk_ = 0, used_ = 0;  // the one being filled, and how far
};

// Programs to record, one after the other. A worker that was late may still be walking through earlier ones.
class StepPrograms {
 public:
  explicit StepPrograms(int workers) : workers_(workers) {}
  // An empty program that no worker is in. It lives as long as this.
  StepProgram* begin();

 private:
  int workers_;
  std::vector<std::unique_ptr<StepProgram>> all_;
};

}  // namespace millrace::backend::cpu
