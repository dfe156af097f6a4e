#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/kernels.h"

namespace millrace::backend::cpu {

// One attention operation divided into tasks. The division changes no bit: splits are at fixed positions, and the
// worker that finishes the last split of a group of rows merges them in order. Kept between calls for its memory: it
// allocates nothing after the largest step.
class AttentionPlan {
 public:
  // Divides the operation for `workers` threads. Copies `args`, but not what they point to.
  void prepare(const KernelSet& kernels, const HostAttendArgs& args, TensorView out, int workers);

  std::int64_t tasks() const noexcept { return static_cast<std::int64_t>(tasks_.size()); }
  std::size_t partial_bytes() const noexcept { return partial_bytes_; }
  // Runs one task. Each must run once; any order, any threads. `partials` are the partial_bytes() of all tasks,
  // `scratch` the attend_scratch_bytes() of this one.
  void run(std::int64_t task, float* partials, std::byte* scratch) noexcept;

 private:
  struct Task {
    AttendRows rows;
    std::int64_t cost;
    std::int32_t group;  // whose partial state it computes; -1 = it writes the output
  };
  // Rows whose splits are different tasks.
  struct Group {
    AttendRows rows;       // all splits
    std::size_t partials;  // offset in floats
    std::int64_t n_splits;
  };

  void add_sequence(const HostAttendArgs& args, const SequenceRows& sequence, TensorView out,
                    std::int64_t heads_together);
  void add_rows(const AttendRows& rows, bool by_splits);
  void merge(const Group& group, const float* partials) const noexcept;

  const KernelSet* kernels_ = nullptr;
  void (*kernel_)(const AttendRows&) = nullptr;
  std::vector<Task> tasks_;
  std::vector<Group> groups_;
  std::unique_ptr<std::atomic<std::int64_t>[]> unfinished_;  // splits of each group
  std::size_t counters_ = 0;
  std::size_t partial_bytes_ = 0;
};

}  // namespace millrace::backend::cpu
