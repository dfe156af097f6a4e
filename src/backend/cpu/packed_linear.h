#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {

// A Linear as the CPU keeps it: stacked weights of one format each, in panels of 16 rows, each with the kernel chosen
// for it.
class PackedLinear final : public Linear {
 public:
  struct Segment {
    const quant::QuantFormat* format;
    const LinearKernel* kernel;
    std::int64_t first_row, rows;     // of the stacked output
    std::size_t panel_bytes, offset;  // into the buffer
    std::int64_t panels() const noexcept { return (rows + kPanelRows - 1) / kPanelRows; }
  };

  // Reads and packs the sources, panels split over the team. Throws LoadError.
  PackedLinear(std::vector<WeightSource> sources, const KernelSet& kernels, MatmulPrecision precision,
               WorkerTeam& team);

  // Of one source once packed.
  static std::size_t bytes(const KernelSet& kernels, const quant::QuantFormat& format, std::int64_t rows,
                           std::int64_t cols, MatmulPrecision precision);

  std::int64_t n() const noexcept override { return n_; }
  std::int64_t k() const noexcept override { return k_; }
  std::size_t packed_bytes() const noexcept override { return buffer_.size(); }
  std::string description() const override;

  const std::vector<Segment>& segments() const noexcept { return segments_; }
  const std::byte* panel(const Segment& segment, std::int64_t index) const noexcept {
    return buffer_.data() + segment.offset + static_cast<std::size_t>(index) * segment.panel_bytes;
  }
  // Row `row` of the stacked weight as f32[k].
  void unpack_row(std::int64_t row, float* out) const;

 private:
  void pack(const WeightSource& source, const Segment& segment, WorkerTeam& team);
  std::int64_t n_ = 0, k_ = 0;
  std::vector<Segment> segments_;
  Isa isa_;
  Buffer buffer_;
};

}  // namespace millrace::backend::cpu
