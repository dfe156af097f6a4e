#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/forwarding_backend.h"

namespace millrace::backend {

// A LowRank that is not packed: the matrices as they were given.
class HeldLowRank final : public LowRank {
 public:
  HeldLowRank(LowRankSource source, std::size_t bytes) : source_(std::move(source)), bytes_(bytes) {}
  const LowRankSource& source() const noexcept { return source_; }
  std::size_t packed_bytes() const noexcept override { return bytes_; }

 private:
  LowRankSource source_;
  std::size_t bytes_;
};

// Makes Linears that have shapes and formats, and no weights: nothing is read of these. For what asks which products a
// model has, and what an adapter adds to them, without its memory. Their operations must not be called.
class ShapeBackend final : public ForwardingBackend {
 public:
  // `inner` is of the kind whose sizes packed_bytes() gives.
  explicit ShapeBackend(std::unique_ptr<Backend> inner) : ForwardingBackend(std::move(inner)) {}

  std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) override {
    return std::make_unique<Shapes>(*this, sources, precision);
  }
  // Each is a HeldLowRank.
  std::vector<std::unique_ptr<LowRank>> make_low_ranks(std::vector<LowRankSource> sources,
                                                       MatmulPrecision precision) override {
    std::vector<std::unique_ptr<LowRank>> made;
    for (LowRankSource& source : sources) {
      std::size_t bytes = 0;
      for (const auto& [a, scale] : source.shrinks) bytes += packed_bytes(*a.format, a.rows, a.cols, precision);
      for (const auto& expand : source.expands) {
        bytes += packed_bytes(*expand.b.format, expand.b.rows, expand.b.cols, MatmulPrecision::kF32);
      }
      made.push_back(std::make_unique<HeldLowRank>(std::move(source), bytes));
    }
    return made;
  }

 private:
  class Shapes final : public Linear {
   public:
    Shapes(const Backend& backend, const std::vector<WeightSource>& sources, MatmulPrecision precision)
        : k_(sources.front().cols), experts_(sources.front().experts), format_(sources.front().format->name) {
      for (const WeightSource& source : sources) {
        n_ += source.rows;
        bytes_ += static_cast<std::size_t>(experts_) *
                  backend.packed_bytes(*source.format, source.rows, source.cols, precision);
      }
    }
    std::int64_t n() const noexcept override { return n_; }
    std::int64_t k() const noexcept override { return k_; }
    std::int64_t experts() const noexcept override { return experts_; }
    std::size_t packed_bytes() const noexcept override { return bytes_; }
    std::string description() const override { return format_; }

   private:
    std::int64_t n_ = 0, k_, experts_;
    std::size_t bytes_ = 0;
    std::string format_;
  };
};

}  // namespace millrace::backend
