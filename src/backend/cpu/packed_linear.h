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

// The panels of one weight, or of each expert's, and how they are multiplied: all that small products need to know, in
// one place, as each thing that they must look up elsewhere is waited for. Valid as long as the weight.
struct PanelView {
  const std::byte* panels = nullptr;
  std::size_t panel_bytes = 0, expert_bytes = 0;
  const float* factors = nullptr;  // of the experts' matrices; null = 1
  const quant::QuantFormat* format = nullptr;
  void (*kernel)(const LinearArgs& args) = nullptr;
  std::int64_t rows = 0;  // of one expert
  ActivationType activation = ActivationType::kF32;

  struct Product {
    std::int64_t first, last;  // panels
    std::int64_t expert = 0;
    const float* bias = nullptr;  // of the weight's rows
    bool accumulate = false;
    float factor = 1.0f;
    AheadStream* ahead = nullptr;
  };
  // Computes x W^T for these panels. `out` is at the first of their columns.
  void multiply(const Product& product, const Activations& x, float* out, std::int64_t out_stride) const noexcept;
  // The same for rows x [rows, k] of f32 that lie one behind the other, for a kernel that takes f32: nothing is
  // prepared. Adds to the outputs.
  void add_product(const Product& product, const float* x, std::int64_t n_rows, std::int64_t k, float* out,
                   std::int64_t out_stride) const noexcept;
  std::span<const std::byte> memory(std::int64_t first, std::int64_t last, std::int64_t expert) const noexcept {
    const std::byte* of_expert = panels + static_cast<std::size_t>(expert) * expert_bytes;
    return {of_expert + static_cast<std::size_t>(first) * panel_bytes,
            of_expert + static_cast<std::size_t>(last) * panel_bytes};
  }
};

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
    std::vector<float> factors = {};            // of the experts' matrices; empty = 1
    std::int64_t uncounted_panels = 0;          // the first ones: WeightSource::uncounted_rows
    bool int8x2 = false;                        // x is multiplied as two int8 numbers
    std::vector<std::uint64_t> checksums = {};  // of the parts of memory(), when they were packed
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
  std::size_t checked_parts() const noexcept override;
  std::optional<std::string_view> damage(std::size_t part) const noexcept override;

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

  // The weight number `segment` of those that are stacked.
  PanelView view(std::size_t segment) const noexcept { return view(segments_[segment]); }
  // Whether one of the weights is multiplied with x as two int8 numbers, which only multiply() does.
  bool has_two_terms() const noexcept { return int8x2_; }

  void unpack_row(std::int64_t row, float* out) const override;
  struct Counts;

 private:
  std::byte* panel(const Segment& segment, std::int64_t index, std::int64_t expert) const noexcept {
    return memory_.data + segment.offset + static_cast<std::size_t>(expert) * segment.expert_bytes +
           static_cast<std::size_t>(index) * segment.panel_bytes;
  }
  std::span<std::byte> memory(const Segment& segment) const noexcept {
    return {panel(segment, 0, 0), panel(segment, segment.panels(), experts_ - 1)};
  }
  PanelView view(const Segment& segment) const noexcept;
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
