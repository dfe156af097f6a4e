#include "backend/cpu/packed_linear.h"

#include <exception>
#include <mutex>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/packed_cache.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

const LinearKernel& choose_kernel(const KernelSet& kernels, const quant::QuantFormat& format, std::int64_t cols,
                                  MatmulPrecision precision) {
  for (const LinearKernel& kernel : kernels.linears) {
    const bool format_fits = kernel.format == "*" || kernel.format == format.name;
    if (format_fits && kernel.precision == precision && cols % kernel.k_multiple == 0) return kernel;
  }
  CHECK(false && "the unpacking kernel takes every weight");
  __builtin_unreachable();
}

// Of the panels in files of packed weights: to be raised with every change of pack_*.cc.
constexpr int kLayoutVersion = 2;

constexpr std::int64_t kPanelsPerRead = 8;  // 128 rows a read: large enough for pread, small enough to stay in cache

}  // namespace

PackedLinear::PackedLinear(std::vector<WeightSource> sources, const KernelSet& kernels, MatmulPrecision precision,
                           WorkerTeam& team, WeightArena& arena, PackedCache* cache)
    : isa_(kernels.isa) {
  CHECK(!sources.empty());
  k_ = sources.front().cols;
  std::size_t total = 0;
  for (const WeightSource& source : sources) {
    CHECK_EQ(source.cols, k_);
    const LinearKernel& kernel = choose_kernel(kernels, *source.format, k_, precision);
    segments_.push_back(
        {source.format, &kernel, n_, source.rows, panels_, kernel.panel_bytes(*source.format, k_), total});
    activation_types_ |= 1u << static_cast<int>(kernel.activation);
    panels_ += segments_.back().panels();
    total += bytes(kernels, *source.format, source.rows, k_, precision);
    n_ += source.rows;
  }
  memory_ = arena.take(total);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Segment& segment = segments_[i];
    const std::span<std::byte> panels(memory_.data + segment.offset,
                                      static_cast<std::size_t>(segment.panels()) * segment.panel_bytes);
    const std::string layout = fmt::format("{} {} {} {} {}", segment.format->name, segment.kernel->name, segment.rows,
                                           segment.panel_bytes, kLayoutVersion);
    if (cache != nullptr && cache->read(sources[i].name, layout, panels, team)) continue;
    pack(sources[i], segment, team);
    if (cache != nullptr) cache->add(sources[i].name, layout, panels);
  }
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
  team.split(segment.panels(), 1, [&](std::int64_t begin, std::int64_t end) {
    try {
      std::vector<std::byte> rows;
      for (std::int64_t p = begin; p < end; p += kPanelsPerRead) {
        const std::int64_t last = std::min(end, p + kPanelsPerRead);
        const std::int64_t first_row = p * kPanelRows, n_rows = std::min(source.rows, last * kPanelRows) - first_row;
        rows.resize(static_cast<std::size_t>(n_rows) * row_bytes);
        source.read(first_row, n_rows, rows);
        for (std::int64_t q = p; q < last; ++q) {
          const std::int64_t row = (q - p) * kPanelRows;
          auto* out = memory_.data + segment.offset + static_cast<std::size_t>(q) * segment.panel_bytes;
          segment.kernel->pack(*source.format, rows.data() + static_cast<std::size_t>(row) * row_bytes,
                               static_cast<int>(std::min<std::int64_t>(kPanelRows, n_rows - row)), k_, out);
        }
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

void PackedLinear::multiply(std::int64_t first, std::int64_t last, const Product& product) const noexcept {
  const std::int64_t first_column = column(first);
  for (const Segment& segment : segments_) {
    const std::int64_t begin = std::max<std::int64_t>(0, first - segment.first_panel);
    const std::int64_t end = std::min(segment.panels(), last - segment.first_panel);
    if (begin >= end) continue;
    const std::int64_t at = segment.first_row + begin * kPanelRows;
    LinearArgs args{};
    args.panels = panel(segment, begin);
    args.n_panels = end - begin;
    args.panel_bytes = segment.panel_bytes;
    args.x = product.x.view(product.first_row, product.rows);
    args.out = product.out + (at - first_column);
    args.out_stride = product.out_stride;
    args.out_columns = std::min(segment.rows, end * kPanelRows) - begin * kPanelRows;
    args.bias = product.bias == nullptr ? nullptr : product.bias + at;
    args.accumulate = product.accumulate;
    args.format = segment.format;
    segment.kernel->run(args);
  }
}

void PackedLinear::unpack_row(std::int64_t row, float* out) const {
  for (const Segment& segment : segments_) {
    const std::int64_t local = row - segment.first_row;
    if (local < 0 || local >= segment.rows) continue;
    segment.kernel->unpack_row(*segment.format, panel(segment, local / kPanelRows),
                               static_cast<int>(local % kPanelRows), k_, out);
    return;
  }
  CHECK(false && "row out of range");
}

}  // namespace millrace::backend::cpu
