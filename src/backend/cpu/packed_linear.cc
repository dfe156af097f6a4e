#include "backend/cpu/packed_linear.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <mutex>

#include "backend/cpu/packed_cache.h"
#include "backend/cpu/part_checksums.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Of int8 products that are summed over a whole row in 32 bits: 128 * 127 times this is below 2^31.
constexpr std::int64_t kMaxRowColumns = 1 << 17;

const LinearKernel& choose_kernel(const KernelSet& kernels, const quant::QuantFormat& format, std::int64_t cols,
                                  MatmulPrecision precision) {
  const MatmulPrecision table = precision == MatmulPrecision::kInt8x2 ? MatmulPrecision::kAuto : precision;
  for (const LinearKernel& kernel : kernels.linears) {
    const bool format_fits = kernel.format == "*" || kernel.format == format.name;
    const bool sums_fit = kernel.activation != ActivationType::kInt8Row || cols <= kMaxRowColumns;
    if (format_fits && sums_fit && kernel.precision == table && cols % kernel.k_multiple == 0) return kernel;
  }
  CHECK(false && "the unpacking kernel takes every weight");
  __builtin_unreachable();
}

// Of the panels in files of packed weights: to be raised with every change of pack_*.cc.
constexpr int kLayoutVersion = 5;

// An output counts as moved if the second term changes it by more than this share. One scale for a row moves most
// outputs by more than one for each group does, which is what W8A8 is; only what is far beyond counts there.
constexpr float kMoved = 1.0f / 64.0f, kMovedOfRows = 1.0f / 16.0f;

constexpr std::int64_t kInt8x2Panels = 2;
constexpr std::int64_t kPanelsPerRead = 8;  // 128 rows a read: large enough for pread, small enough to stay in cache

}  // namespace

PackedLinear::PackedLinear(std::vector<WeightSource> sources, const KernelSet& kernels, MatmulPrecision precision,
                           WorkerTeam& team, WeightArena& arena, PackedCache* cache)
    : isa_(kernels.isa) {
  CHECK(!sources.empty());
  k_ = sources.front().cols;
  experts_ = sources.front().experts;
  std::size_t total = 0;
  for (WeightSource& source : sources) {
    CHECK_EQ(source.cols, k_);
    CHECK_EQ(source.experts, experts_);
    CHECK(source.factors.empty() || std::ssize(source.factors) == experts_);
    const LinearKernel& kernel = choose_kernel(kernels, *source.format, k_, precision);
    const std::size_t of_one = bytes(kernels, *source.format, source.rows, k_, precision);
    segments_.push_back({source.format, &kernel, n_, source.rows, panels_, kernel.panel_bytes(*source.format, k_),
                         of_one, total, order_of(std::move(source.columns)), source.name, source.factors});
    segments_.back().uncounted_panels = source.uncounted_rows / kPanelRows;
    if (precision == MatmulPrecision::kInt8x2) set_int8x2(source.name);
    activation_types_ |= 1u << static_cast<int>(kernel.activation);
    panels_ += segments_.back().panels();
    total += static_cast<std::size_t>(experts_) * of_one;
    n_ += source.rows;
  }
  memory_ = arena.take(total);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Segment& segment = segments_[i];
    const std::span<std::byte> panels = memory(segment);
    std::string layout = fmt::format("{} {} {} {} {}", segment.format->name, segment.kernel->name, segment.rows,
                                     segment.panel_bytes, kLayoutVersion);
    if (experts_ > 1) layout += fmt::format(" {}", experts_);
    if (auto kept = cache == nullptr ? std::nullopt : cache->read(sources[i].name, layout, panels, team)) {
      segment.checksums = *std::move(kept);
      continue;
    }
    pack(sources[i], segment, team);
    segment.checksums = part_checksums(panels, team);
    if (cache != nullptr) cache->add(sources[i].name, layout, panels, segment.checksums);
  }
}

std::size_t PackedLinear::checked_parts() const noexcept {
  std::size_t parts = 0;
  for (const Segment& segment : segments_) parts += segment.checksums.size();
  return parts;
}

std::optional<std::string_view> PackedLinear::damage(std::size_t part) const noexcept {
  for (const Segment& segment : segments_) {
    if (part >= segment.checksums.size()) {
      part -= segment.checksums.size();
      continue;
    }
    if (part_checksum(part_of(memory(segment), part)) == segment.checksums[part]) return std::nullopt;
    return segment.name;
  }
  return std::nullopt;
}

std::size_t PackedLinear::order_of(std::vector<std::int32_t> columns) {
  const auto known = std::ranges::find(orders_, columns);
  if (known != orders_.end()) return static_cast<std::size_t>(known - orders_.begin());
  orders_.push_back(std::move(columns));
  return orders_.size() - 1;
}

std::size_t PackedLinear::bytes(const KernelSet& kernels, const quant::QuantFormat& format, std::int64_t rows,
                                std::int64_t cols, MatmulPrecision precision) {
  const LinearKernel& kernel = choose_kernel(kernels, format, cols, precision);
  const auto panels = static_cast<std::size_t>((rows + kPanelRows - 1) / kPanelRows);
  return (panels * kernel.panel_bytes(format, cols) + 63) / 64 * 64;
}

void PackedLinear::pack(const WeightSource& source, const Segment& segment, WorkerTeam& team) {
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const std::size_t row_bytes = source.format->row_bytes(k_);
  const std::int64_t panels = segment.panels();
  team.split(experts_ * panels, 1, [&](std::int64_t begin, std::int64_t end) {
    try {
      std::vector<std::byte> rows;
      for (std::int64_t p = begin; p < end;) {
        const std::int64_t expert = p / panels, first = p % panels;
        const std::int64_t last = std::min({panels, first + kPanelsPerRead, first + end - p});
        const std::int64_t first_row = first * kPanelRows;
        const std::int64_t n_rows = std::min(source.rows, last * kPanelRows) - first_row;
        rows.resize(static_cast<std::size_t>(n_rows) * row_bytes);
        source.read(expert * source.rows + first_row, n_rows, rows);
        for (std::int64_t q = first; q < last; ++q) {
          const std::int64_t row = (q - first) * kPanelRows;
          segment.kernel->pack(*source.format, rows.data() + static_cast<std::size_t>(row) * row_bytes,
                               static_cast<int>(std::min<std::int64_t>(kPanelRows, n_rows - row)), k_,
                               panel(segment, q, expert));
        }
        p += last - first;
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

std::string PackedLinear::description() const {
  std::string text;
  for (const Segment& segment : segments_) {
    const std::string part = fmt::format("{} ({} {})", segment.format->name, to_string(isa_), segment.kernel->name);
    if (text.find(part) == std::string::npos) text += (text.empty() ? "" : " + ") + part;
  }
  return text;
}

std::int64_t PackedLinear::column(std::int64_t panel) const noexcept {
  for (const Segment& segment : segments_) {
    const std::int64_t local = panel - segment.first_panel;
    if (local < segment.panels()) return segment.first_row + local * kPanelRows;
  }
  return n_;
}

void PanelView::multiply(const Product& product, const Activations& x, float* out,
                         std::int64_t out_stride) const noexcept {
  const std::int64_t column = product.first * kPanelRows;
  LinearArgs args{};
  args.panels = memory(product.first, product.last, product.expert).data();
  args.n_panels = product.last - product.first;
  args.panel_bytes = panel_bytes;
  args.x = x;
  args.out = out;
  args.out_stride = out_stride;
  args.out_columns = std::min(rows, product.last * kPanelRows) - column;
  args.bias = product.bias == nullptr ? nullptr : product.bias + column;
  args.accumulate = product.accumulate;
  args.format = format;
  args.factor = product.factor * (factors == nullptr ? 1.0f : factors[product.expert]);
  args.ahead = product.ahead;
  kernel(args);
}

void PanelView::add_product(const Product& product, const float* x, std::int64_t n_rows, std::int64_t k, float* out,
                            std::int64_t out_stride) const noexcept {
  DCHECK(activation == ActivationType::kF32);
  Activations values;
  values.rows = n_rows;
  values.k = k;
  values.f32 = x;
  values.f32_stride = k;
  Product added = product;
  added.accumulate = true;
  multiply(added, values, out, out_stride);
}

PanelView PackedLinear::view(const Segment& segment) const noexcept {
  return {.panels = panel(segment, 0, 0),
          .panel_bytes = segment.panel_bytes,
          .expert_bytes = segment.expert_bytes,
          .factors = segment.factors.empty() ? nullptr : segment.factors.data(),
          .format = segment.format,
          .kernel = segment.kernel->run,
          .rows = segment.rows,
          .activation = segment.kernel->activation};
}

void PackedLinear::run(const PanelRange& panels, const Activations& x, const float* bias, bool accumulate, float* out,
                       std::int64_t out_stride, float factor, AheadStream* ahead) const noexcept {
  const Segment& segment = panels.segment;
  view(segment).multiply({.first = panels.begin,
                          .last = panels.end,
                          .expert = panels.expert,
                          .bias = bias == nullptr ? nullptr : bias + segment.first_row,
                          .accumulate = accumulate,
                          .factor = factor,
                          .ahead = ahead},
                         x, out, out_stride);
}

struct PackedLinear::Counts {
  std::atomic<std::int64_t> outputs{0}, moved{0};
};

PackedLinear::~PackedLinear() = default;

void PackedLinear::start_rounding_statistics() { rounding_ = std::make_unique<Counts[]>(segments_.size()); }

std::vector<RoundingStatistics> PackedLinear::take_rounding_statistics() {
  std::vector<RoundingStatistics> out;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (!is_int8(segments_[i].kernel->activation)) continue;
    out.push_back({segments_[i].name, rounding_[i].outputs, rounding_[i].moved});
  }
  rounding_.reset();
  return out;
}

void PackedLinear::set_int8x2(std::string_view name) {
  for (Segment& segment : segments_) {
    if (segment.name != name || !is_int8(segment.kernel->activation)) continue;
    segment.int8x2 = int8x2_ = true;
  }
}

// Counts whole numbers of whole panels, so that the sum does not depend on how the work is divided.
void PackedLinear::count_rounding(const PanelRange& panels, const Product& product, Counts& counts) const noexcept {
  float whole[kInt8x2Panels * kPanelRows] = {}, moved[kInt8x2Panels * kPanelRows] = {};
  const ActivationRows x = product.x.of_order(panels.segment.order);
  const ActivationType type = panels.segment.kernel->activation;
  const float share = type == ActivationType::kInt8Row ? kMovedOfRows : kMoved, moved_squared = share * share;
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    run(panels, x.view(type, r, 1), nullptr, false, whole, std::size(whole));
    run(panels, x.remainder(type, r, 1), nullptr, false, moved, std::size(moved));
    for (std::int64_t p = 0; p < panels.end - panels.begin; ++p) {
      float length = 0.0f, change = 0.0f;
      for (std::int64_t i = p * kPanelRows; i < (p + 1) * kPanelRows; ++i) {
        length += whole[i] * whole[i];
        change += moved[i] * moved[i];
      }
      counts.outputs.fetch_add(1, std::memory_order_relaxed);
      if (change > moved_squared * length) counts.moved.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

void PackedLinear::multiply(std::int64_t first, std::int64_t last, const Product& product) const noexcept {
  const std::int64_t first_column = column(first);
  for (const Segment& segment : segments_) {
    const std::int64_t begin = std::max<std::int64_t>(0, first - segment.first_panel);
    const std::int64_t end = std::min(segment.panels(), last - segment.first_panel);
    if (begin >= end) continue;
    const ActivationRows x = product.x.of_order(segment.order);
    const ActivationType type = segment.kernel->activation;
    // With two terms the panels are still in a near cache when the second one comes.
    const std::int64_t step = segment.int8x2 || rounding_ ? kInt8x2Panels : end - begin;
    for (std::int64_t p = begin; p < end; p += step) {
      const PanelRange panels{segment, p, std::min(end, p + step), product.expert};
      const PanelRange counted{segment, std::max(p, segment.uncounted_panels), panels.end, product.expert};
      if (rounding_ && is_int8(type) && counted.begin < counted.end) {
        count_rounding(counted, product, rounding_[&segment - segments_.data()]);
      }
      float* out = product.out + (segment.first_row + p * kPanelRows - first_column);
      run(panels, x.view(type, 0, x.rows()), product.bias, product.accumulate, out, product.out_stride, product.factor,
          product.ahead);
      if (!segment.int8x2) continue;
      run(panels, x.remainder(type, 0, x.rows()), nullptr, true, out, product.out_stride, product.factor);
    }
  }
}

void PackedLinear::unpack_row(std::int64_t row, float* out) const {
  for (const Segment& segment : segments_) {
    const std::int64_t local = row % n_ - segment.first_row;
    if (local < 0 || local >= segment.rows) continue;
    segment.kernel->unpack_row(*segment.format, panel(segment, local / kPanelRows, row / n_),
                               static_cast<int>(local % kPanelRows), k_, out);
    const float factor = segment.factor(row / n_);
    for (std::int64_t i = 0; i < k_ && factor != 1.0f; ++i) out[i] *= factor;
    const std::vector<std::int32_t>& columns = orders_[segment.order];
    if (columns.empty()) return;
    const std::vector<float> stored(out, out + k_);
    for (std::size_t j = 0; j < stored.size(); ++j) out[columns[j]] = stored[j];
    return;
  }
  CHECK(false && "row out of range");
}

}  // namespace millrace::backend::cpu
