#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"

namespace millrace::backend {

// Another backend as it is: the base of those that watch or change a part of it.
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::string description() const override { return inner_->description(); }
  int threads() const noexcept override { return inner_->threads(); }
  Result<Buffer> allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) override {
    return inner_->make_linear(std::move(sources), precision);
  }
  void finish_loading() override { inner_->finish_loading(); }
  std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                           MatmulPrecision precision) const override {
    return inner_->packed_bytes(format, rows, cols, precision);
  }
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn) const noexcept override {
    return inner_->workspace_bytes(rows, hidden, ffn);
  }
  void gather(const Linear& weight, std::span<const std::int32_t> ids, bool accumulate, TensorView out) override {
    inner_->gather(weight, ids, accumulate, out);
  }
  void norm(const Norm& norm, std::span<const std::int64_t> rows, TensorView x, TensorView out) override {
    inner_->norm(norm, rows, x, out);
  }
  void linear(const Linear& weight, const LinearOptions& options, TensorView x, TensorView out) override {
    inner_->linear(weight, options, x, out);
  }
  void project_attention(const AttentionInputs& inputs, TensorView x, TensorView qkv) override {
    inner_->project_attention(inputs, x, qkv);
  }
  void attend(const AttendArgs& args, TensorView out) override { inner_->attend(args, out); }
  void mlp(const Mlp& mlp, TensorView x) override { inner_->mlp(mlp, x); }
  void synchronize() override { inner_->synchronize(); }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace millrace::backend
