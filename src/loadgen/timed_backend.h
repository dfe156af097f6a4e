#pragma once

#include <memory>

#include "backend/backend.h"
#include "base/env.h"

namespace millrace::loadgen {

// A backend that passes everything on and adds up the time of synchronize(), in which a device that records its
// operations does all of them: the rest of a step is spent outside the kernels.
class TimedBackend final : public backend::Backend {
 public:
  explicit TimedBackend(std::unique_ptr<backend::Backend> inner) : inner_(std::move(inner)) {}

  // Milliseconds in synchronize() so far.
  double milliseconds() const noexcept { return milliseconds_; }

  std::string description() const override { return inner_->description(); }
  int threads() const noexcept override { return inner_->threads(); }
  Result<Buffer> allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  std::unique_ptr<backend::Linear> make_linear(std::vector<backend::WeightSource> sources,
                                               backend::MatmulPrecision precision) override {
    return inner_->make_linear(std::move(sources), precision);
  }
  std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                           backend::MatmulPrecision precision) const override {
    return inner_->packed_bytes(format, rows, cols, precision);
  }
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn) const noexcept override {
    return inner_->workspace_bytes(rows, hidden, ffn);
  }
  void finish_loading() override { inner_->finish_loading(); }
  void gather(const backend::Linear& weight, std::span<const std::int32_t> ids, bool accumulate,
              TensorView out) override {
    inner_->gather(weight, ids, accumulate, out);
  }
  void norm(const backend::Norm& norm, std::span<const std::int64_t> rows, TensorView x, TensorView out) override {
    inner_->norm(norm, rows, x, out);
  }
  void linear(const backend::Linear& weight, const backend::LinearOptions& options, TensorView x,
              TensorView out) override {
    inner_->linear(weight, options, x, out);
  }
  void project_attention(const backend::AttentionInputs& inputs, TensorView x, TensorView qkv) override {
    inner_->project_attention(inputs, x, qkv);
  }
  void attend(const backend::AttendArgs& args, TensorView out) override { inner_->attend(args, out); }
  void mlp(const backend::Mlp& mlp, TensorView x) override { inner_->mlp(mlp, x); }
  void synchronize() override {
    const TimePoint start = Clock::now();
    inner_->synchronize();
    milliseconds_ += milliseconds_between(start, Clock::now());
  }

 private:
  std::unique_ptr<backend::Backend> inner_;
  double milliseconds_ = 0.0;
};

}  // namespace millrace::loadgen
