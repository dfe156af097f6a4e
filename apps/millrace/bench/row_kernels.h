#pragma once

#include <memory>

#include "backend/cpu/kernels.h"
#include "base/worker_team.h"
#include "bench/kernel_op.h"

namespace millrace::bench {

// The floats of a buffer of the CPU backend, for kernels that take pointers.
inline float* floats(const backend::DeviceBuffer& buffer) noexcept { return backend::cpu::pointer(buffer.address()); }

// Runs kernels of the CPU backend that its operations are made of, without the operations that fuse them. A kernel
// computes one row a call; rows are split over a team of threads, as many as the backend has.
class RowKernels {
 public:
  explicit RowKernels(const KernelContext& context)
      : kernels_(backend::cpu::select_kernels(context.isa)), team_(context.backend.threads()) {}

  const backend::cpu::KernelSet& kernels() const noexcept { return kernels_; }
  // Calls row(r) for each r in [0, rows), in parallel on the team and the calling thread. One caller at a time.
  template <typename Row>
  void run(std::int64_t rows, const Row& row) {
    team_.split(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) row(r);
    });
  }

 private:
  backend::cpu::KernelSet kernels_;
  WorkerTeam team_;
};

}  // namespace millrace::bench
