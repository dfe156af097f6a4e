#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {

// The Backend of the processor: splits each operation over the worker team and calls the kernels chosen at
// construction.
class CpuBackend final : public Backend {
 public:
  CpuBackend(int threads, Isa isa);

  std::string description() const override;
  int threads() const noexcept override { return team_.size(); }
  Result<Buffer> allocate(std::size_t bytes) override { return Buffer::allocate(bytes); }
  std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) override;
  std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                           MatmulPrecision precision) const override;
  void gather(const Linear& weight, std::span<const std::int32_t> ids, TensorView out) override;
  void linear(const Linear& weight, TensorView x, const float* bias, bool accumulate, TensorView out) override;
  void norm(const Norm& norm, TensorView x, std::int64_t groups, TensorView out) override;
  void rope(const RopeArgs& args) override;
  void write_kv(TensorView k, TensorView v, std::span<const SequenceRows> sequences, const KvPages& kv) override;
  void attend(const AttendArgs& args, TensorView out) override;
  void gated_activation(Activation activation, TensorView x, TensorView out) override;
  void activate(Activation activation, TensorView x) override;
  void add(TensorView x, TensorView out) override;

 private:
  Activations prepare(ActivationType type, TensorView x);

  WorkerTeam team_;
  KernelSet kernels_;
  // The activations of the current product, in the form its kernel wants; kept between calls to avoid allocation.
  std::vector<std::int8_t> codes_;
  std::vector<float> scales_;
  std::vector<std::int32_t> sums_;
  std::vector<std::uint16_t> bf16_;
  std::vector<float> partials_;
};

}  // namespace millrace::backend::cpu
