#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/packed_linear.h"
#include "backend/low_rank.h"

namespace millrace::backend::cpu {

// A RowDeltaSource of the CPU, packed as any weight is.
class PackedRowDelta final : public LowRank {
 public:
  PackedRowDelta(RowDeltaSource source, const KernelSet& kernels, WorkerTeam& team, WeightArena& arena);

  std::size_t packed_bytes() const noexcept override;
  // Floats of scratch memory that add() needs.
  std::int64_t scratch() const noexcept;
  // Adds `scale` times what it has for row `id` to out [k].
  void add(const KernelSet& kernels, std::int32_t id, float scale, float* scratch, float* out) const noexcept;

 private:
  std::unique_ptr<PackedLinear> a_, b_, d_;  // null: none
  float scale_;
  std::vector<std::int32_t> ids_;
};

}  // namespace millrace::backend::cpu
