#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/packed_linear.h"
#include "backend/low_rank.h"

namespace millrace::backend::cpu {

// Columns of x in parts, of which A's products are summed in order. They follow from k alone, so that the sums do; the
// parts are what workers take.
struct ColumnParts {
  static constexpr std::int64_t kMost = 512;
  std::int64_t k = 0;

  std::int64_t count() const noexcept { return (k + kMost - 1) / kMost; }
  std::int64_t first(std::int64_t part) const noexcept { return std::min(k, part * width()); }
  std::int64_t size(std::int64_t part) const noexcept { return first(part + 1) - first(part); }
  std::int64_t width() const noexcept {  // whole groups
    const std::int64_t share = count() == 0 ? 0 : (k + count() - 1) / count();
    return (share + kGroup - 1) / kGroup * kGroup;
  }
};

// The forms of x that A of some adapters read.
struct AdapterForm {
  std::int64_t k = 0;
  unsigned types = 0;  // as ActivationForm::types
  bool remainder = false;

  ActivationForm of_part(std::int64_t part) const noexcept;
};

// Rows of x for adapters, part by part. A view, as ActivationRows are.
class AdapterInput {
 public:
  AdapterInput() = default;  // none
  AdapterInput(const AdapterForm& form, std::int64_t rows, std::byte* memory) noexcept;
  std::size_t bytes() const noexcept;
  ActivationRows part(std::int64_t part) const noexcept;
  // Takes n values of row `row` from column `column` on, as ActivationRows::put().
  void put(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
           std::int64_t n) const noexcept;

 private:
  AdapterForm form_ = {};
  std::int64_t rows_ = 0;
  std::size_t part_bytes_ = 0;  // of all parts but the last, which may have less
  std::byte* memory_ = nullptr;
};

// Outputs of a product that a worker has computed, to which an adapter is applied.
struct AdaptedColumns {
  std::int64_t first, last;   // panels of the base
  std::int64_t first_column;  // that of panel `first`
  const float* bias;          // of the base [n], or null
  float* out;                 // at `first_column`
  std::int64_t stride;
};

// A LowRank of the CPU. A and B are packed as any weight is, A in parts of its columns. A takes x in the form that its
// own kernel wants, and gives f32, which B takes.
class PackedLowRank final : public LowRank {
 public:
  PackedLowRank(LowRankSource source, MatmulPrecision precision, const KernelSet& kernels, WorkerTeam& team,
                WeightArena& arena);

  std::size_t packed_bytes() const noexcept override;
  AdapterForm form() const noexcept { return form_; }
  std::int64_t parts() const noexcept { return ColumnParts{form_.k}.count(); }
  // Bytes of what A gives for so many rows: a multiple of 64.
  std::size_t rank_bytes(std::int64_t rows) const noexcept { return static_cast<std::size_t>(rows * ranks_) * 4; }

  // Computes the products of one part of the columns with every A, of one expert.
  void shrink(std::int64_t part, const ActivationRows& x, std::byte* ranks, std::int64_t expert = 0) const noexcept;
  // Adds what the next part gave.
  void add_part(const KernelSet& kernels, std::int64_t rows, const std::byte* other, std::byte* ranks) const noexcept;
  // Multiplies the sums by the scales.
  void scale(const KernelSet& kernels, float scale, std::int64_t rows, std::byte* ranks) const noexcept;
  // All of that for rows of x, part by part. `ranks` is followed by as much scratch memory.
  void shrink_all(const KernelSet& kernels, const AdapterInput& x, std::int64_t first_row, std::int64_t rows,
                  float scale, std::byte* ranks, std::int64_t expert = 0) const noexcept;
  // Applies factors, biases and B to outputs of `rows` rows, for which `ranks` are the sums. x: what put() got of these
  // rows, from `first_row` on. `scale` is that of the rows.
  void expand(const KernelSet& kernels, const AdaptedColumns& columns, const AdapterInput& x, std::int64_t first_row,
              std::int64_t rows, float scale, const std::byte* ranks, std::int64_t expert = 0) const noexcept;
  // Calls visit(memory) for what expand() reads for these columns.
  template <typename Visit>
  void for_memory(const AdaptedColumns& columns, std::int64_t expert, const Visit& visit) const noexcept {
    for (const Expand& part : expands_) {
      const std::int64_t begin = std::max<std::int64_t>(0, columns.first - part.first_panel);
      const std::int64_t end = std::min(part.panels, columns.last - part.first_panel);
      if (begin < end && part.of_ranks.panels != nullptr) visit(part.of_ranks.memory(begin, end, expert));
    }
  }
  // Whether it has factors, which must not find in the outputs what the product is added to.
  bool has_factors() const noexcept { return has_factors_; }

 private:
  struct Shrink {
    std::int64_t first_panel, last_panel;  // of each of a_
    std::int64_t rank, first_rank;         // first_rank: a multiple of 16
    float scale;
  };
  struct Expand {
    std::int64_t first_panel, panels;       // of the base
    std::int64_t first_column, rows;        // of its outputs
    std::int64_t rank = 0, first_rank = 0;  // of what its shrink gives
    PanelView of_ranks = {};                // b, if that takes them; else no panels
    bool plain = true;                      // nothing below but that b
    bool of_input = false;                  // b takes x
    bool replaces_bias = false;
    std::vector<std::unique_ptr<PackedLinear>> b = {};  // one, or one a part of x; none
    std::vector<std::int32_t> outputs = {};
    std::vector<float> factor = {}, bias = {};  // [experts, rows]
  };
  // What shrink number i gave for so many rows: [rows, rank].
  float* ranks_of(std::size_t i, std::int64_t rows, std::byte* ranks) const noexcept {
    return reinterpret_cast<float*>(ranks) + rows * shrinks_[i].first_rank;
  }
  void apply_others(const KernelSet& kernels, const Expand& part, const AdaptedColumns& columns, const AdapterInput& x,
                    std::int64_t first_row, std::int64_t rows, float scale, std::int64_t expert) const noexcept;

  AdapterForm form_;
  std::vector<std::unique_ptr<PackedLinear>> a_;  // by part; all A stacked
  std::vector<PanelView> a_views_;                // by part, each A; none where a_ has two terms
  std::int64_t ranks_ = 0;                        // of all, each a multiple of 16
  std::vector<Shrink> shrinks_;
  std::vector<Expand> expands_;
  bool has_factors_ = false;
};

}  // namespace millrace::backend::cpu
