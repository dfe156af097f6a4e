#pragma once

#include <memory>

#include "backend/cpu/kernels.h"
#include "base/worker_team.h"
#include "bench/kernel_op.h"

namespace millrace::bench {

// A pointer to memory of the CPU backend, as row kernels take it.
inline float* floats(const backend::DeviceBuffer& buffer) noexcept { return backend::cpu::pointer(buffer.address()); }

// Times kernels that backend operations contain, without what they are fused with: one row a call, rows split over a
// team of threads.
class RowKernels {
 public:
  explicit RowKernels(const KernelContext& context)
      : kernels_(backend::cpu::select_kernels(context.isa)), team_(context.backend.threads()) {}

  const backend::cpu::KernelSet& kernels() const noexcept { return kernels_; }
  // Calls row(r) for each of `rows` rows.
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
