#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/forwarding_backend.h"
#include "backend/low_rank.h"
#include "backend/source_rows.h"

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

// The same of rows that gather() reads.
class HeldRowDelta final : public LowRank {
 public:
  HeldRowDelta(RowDeltaSource source, std::size_t bytes) : source_(std::move(source)), bytes_(bytes) {}
  const RowDeltaSource& source() const noexcept { return source_; }
  std::size_t packed_bytes() const noexcept override { return bytes_; }

 private:
  RowDeltaSource source_;
  std::size_t bytes_;
};

// Makes Linears that have shapes and formats, and no weights: of these unpack_row() alone reads. For what asks which
// products a model has, and what an adapter adds to them, without its memory. Their operations must not be called.
class ShapeBackend final : public ForwardingBackend {
 public:
  // `inner` is of the kind whose sizes packed_bytes() gives.
  explicit ShapeBackend(std::unique_ptr<Backend> inner) : ForwardingBackend(std::move(inner)) {}

  std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) override {
    return std::make_unique<Shapes>(*this, std::move(sources), precision);
  }
  // Each is a HeldLowRank.
  std::vector<std::unique_ptr<LowRank>> make_low_ranks(std::vector<LowRankSource> sources,
                                                       MatmulPrecision precision) override {
    std::vector<std::unique_ptr<LowRank>> made;
    for (LowRankSource& source : sources) {
      std::size_t bytes = 0;
      const auto experts = static_cast<std::size_t>(source.base->experts());
      for (const auto& [a, scale] : source.shrinks) {
        bytes += experts * packed_bytes(*a.format, a.rows, a.cols, precision);
      }
      for (const auto& expand : source.expands) {
        bytes += (expand.outputs.size() + expand.factor.size() + expand.bias.size()) * sizeof(float);
        if (expand.b.rows == 0) continue;
        const bool of_input = expand.shrink == LowRankSource::Expand::kInput;
        bytes += experts * packed_bytes(*expand.b.format, expand.b.rows, expand.b.cols,
                                        of_input ? precision : MatmulPrecision::kF32);
      }
      made.push_back(std::make_unique<HeldLowRank>(std::move(source), bytes));
    }
    return made;
  }
  // A HeldRowDelta.
  std::unique_ptr<LowRank> make_row_delta(RowDeltaSource source) override {
    std::size_t bytes = source.ids.size() * sizeof(std::int32_t);
    for (const WeightSource* one : {&source.a, &source.b, &source.d}) {
      if (one->rows > 0) bytes += packed_bytes(*one->format, one->rows, one->cols, MatmulPrecision::kF32);
    }
    return std::make_unique<HeldRowDelta>(std::move(source), bytes);
  }

 private:
  class Shapes final : public Linear {
   public:
    Shapes(const Backend& backend, std::vector<WeightSource> sources, MatmulPrecision precision)
        : sources_(std::move(sources)) {
      for (const WeightSource& source : sources_) {
        n_ += source.rows;
        bytes_ += static_cast<std::size_t>(experts()) *
                  backend.packed_bytes(*source.format, source.rows, source.cols, precision);
      }
    }
    std::int64_t n() const noexcept override { return n_; }
    std::int64_t k() const noexcept override { return sources_.front().cols; }
    std::int64_t experts() const noexcept override { return sources_.front().experts; }
    std::size_t packed_bytes() const noexcept override { return bytes_; }
    std::string description() const override { return std::string(sources_.front().format->name); }
    // Reads it.
    void unpack_row(std::int64_t row, float* out) const override {
      const std::int64_t expert = row / n_;
      row %= n_;
      std::size_t i = 0;
      for (; row >= sources_[i].rows; ++i) row -= sources_[i].rows;
      std::ranges::copy(source_row(sources_[i], expert * sources_[i].rows + row), out);
    }

   private:
    std::vector<WeightSource> sources_;
    std::int64_t n_ = 0;
    std::size_t bytes_ = 0;
  };
};

}  // namespace millrace::backend
