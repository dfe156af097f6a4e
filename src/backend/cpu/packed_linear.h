#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/weight_arena.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {

class PackedCache;

// A Linear of the CPU: stacked weights, each of one format, in panels of 16 rows, and each with the kernel chosen for
// it.
class PackedLinear final : public Linear {
 public:
  struct Segment {
    const quant::QuantFormat* format;
    const LinearKernel* kernel;
    std::int64_t first_row, rows;  // within the stacked output, of one expert
    std::int64_t first_panel;
    std::size_t panel_bytes, expert_bytes, offset;  // bytes; `offset` is within the buffer
    std::size_t order;                              // index of its column order in ActivationForm::orders
    std::string name;
    std::vector<float> factors = {};  // of the experts' matrices; empty = 1
    bool int8x2 = false;              // x is multiplied as two int8 numbers
    std::int64_t panels() const noexcept { return (rows + kPanelRows - 1) / kPanelRows; }
    float factor(std::int64_t expert) const noexcept {
      return factors.empty() ? 1.0f : factors[static_cast<std::size_t>(expert)];
    }
  };

  // Reads and packs the sources, with the panels split over the team, or copies them from the cache (null: none).
  // Throws LoadError.
  PackedLinear(std::vector<WeightSource> sources, const KernelSet& kernels, MatmulPrecision precision, WorkerTeam& team,
               WeightArena& arena, PackedCache* cache);
  ~PackedLinear() override;

  // Bytes of one packed source, of one expert.
  static std::size_t bytes(const KernelSet& kernels, const quant::QuantFormat& format, std::int64_t rows,
                           std::int64_t cols, MatmulPrecision precision);

  std::int64_t n() const noexcept override { return n_; }
  std::int64_t k() const noexcept override { return k_; }
  std::int64_t experts() const noexcept override { return experts_; }
  std::size_t packed_bytes() const noexcept override { return memory_.size; }
  std::string description() const override;

  bool has_int8_activations() const noexcept override { return activation_form().wants_int8(); }
  void start_rounding_statistics() override;
  std::vector<RoundingStatistics> take_rounding_statistics() override;
  void set_int8x2(std::string_view name) override;

  // The form of x that multiply() reads. It changes after set_int8x2(), and while rounding statistics are taken. Its
  // orders are views of the weight's own.
  ActivationForm activation_form() const noexcept {
    return {k_, activation_types_, int8x2_ || rounding_ != nullptr, orders_};
  }

  // Where the outputs of a stacked weight lie.
  struct Stacked {
    std::int64_t first_row, rows, first_panel;
  };
  Stacked stacked(std::size_t number) const noexcept {
    return {segments_[number].first_row, segments_[number].rows, segments_[number].first_panel};
  }

  // The number of panels of all segments, of one expert; panel numbers below count over all of them.
  std::int64_t panels() const noexcept { return panels_; }
  // The first output column of a panel; n for panel == panels().
  std::int64_t column(std::int64_t panel) const noexcept;
  struct Product {
    const ActivationRows& x;
    const float* bias;  // [n] of the expert or null
    bool accumulate;
    float* out;  // at the first row of x and the first computed column
    std::int64_t out_stride;
    std::int64_t expert = 0;  // whose panels
    float factor = 1.0f;      // of x W^T
    AheadStream* ahead = nullptr;
  };
  // Computes out = x W^T (+ bias) (+ out) for the columns of the panels [first, last).
  void multiply(std::int64_t first, std::int64_t last, const Product& product) const noexcept;

  // Adds x W^T to the outputs of the panels [first, last) of a single weight whose kernel takes f32, for rows x [rows,
  // k] that lie one behind the other. For small products: nothing is prepared.
  void add_product(std::int64_t first, std::int64_t last, const float* x, std::int64_t rows, float* out,
                   std::int64_t out_stride, std::int64_t expert) const noexcept;

  void unpack_row(std::int64_t row, float* out) const override;
  // The memory of the panels [first, last) of a single weight.
  std::span<const std::byte> panel_memory(std::int64_t first, std::int64_t last, std::int64_t expert) const noexcept {
    const std::byte* at = panel(segments_.front(), first, expert);
    return {at, panel(segments_.front(), last, expert)};
  }

  struct Counts;

 private:
  std::byte* panel(const Segment& segment, std::int64_t index, std::int64_t expert) const noexcept {
    return memory_.data + segment.offset + static_cast<std::size_t>(expert) * segment.expert_bytes +
           static_cast<std::size_t>(index) * segment.panel_bytes;
  }
  struct PanelRange {
    const Segment& segment;
    std::int64_t begin, end, expert;
  };
  void run(const PanelRange& panels, const Activations& x, const float* bias, bool accumulate, float* out,
           std::int64_t out_stride, float factor = 1.0f, AheadStream* ahead = nullptr) const noexcept;
  void count_rounding(const PanelRange& panels, const Product& product, Counts& counts) const noexcept;
  void pack(const WeightSource& source, const Segment& segment, WorkerTeam& team);
  std::size_t order_of(std::vector<std::int32_t> columns);
  std::int64_t n_ = 0, k_ = 0, panels_ = 0, experts_ = 1;
  bool int8x2_ = false;                 // of any segment
  std::unique_ptr<Counts[]> rounding_;  // one a segment, while it is taken
  unsigned activation_types_ = 0;       // ActivationForm::types
  std::vector<Segment> segments_;
  std::vector<std::vector<std::int32_t>> orders_;  // the different WeightSource::columns of the segments
  Isa isa_;
  WeightArena::Slice memory_;
};

// This device's weight.
inline const PackedLinear& packed(const Linear* linear) noexcept { return static_cast<const PackedLinear&>(*linear); }

}  // namespace millrace::backend::cpu
