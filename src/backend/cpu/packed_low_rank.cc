#include "backend/cpu/packed_low_rank.h"

#include <cstring>

#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

const std::vector<std::int32_t> kInOrder[1] = {};

// Columns [first, first + n) of a matrix, at whole blocks.
WeightSource columns_of(const WeightSource& whole, std::int64_t first, std::int64_t n) {
  WeightSource part = whole;
  part.cols = n;
  const std::size_t row = whole.format->row_bytes(whole.cols), begin = whole.format->row_bytes(first);
  const std::size_t width = whole.format->row_bytes(n);
  part.read = [read = whole.read, row, begin, width](std::int64_t from, std::int64_t count, std::span<std::byte> out) {
    std::vector<std::byte> rows(static_cast<std::size_t>(count) * row);
    read(from, count, rows);
    for (std::size_t r = 0; r < static_cast<std::size_t>(count); ++r) {
      std::memcpy(out.data() + r * width, rows.data() + r * row + begin, width);
    }
  };
  return part;
}

// y = b + (1 + scale (factor - 1)) (y - b) for n columns of each row.
void scale_outputs(const float* factor, const float* bias, std::int64_t n, std::int64_t rows, float scale, float* out,
                   std::int64_t stride) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, out += stride) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float base = bias == nullptr ? 0.0f : bias[i];
      out[i] = base + (1.0f + scale * (factor[i] - 1.0f)) * (out[i] - base);
    }
  }
}

// Adds number i of each row of sums to the output outputs[i], for those among the n from number `first` on.
void add_outputs(std::span<const std::int32_t> outputs, std::int64_t first, std::int64_t n, const float* sums,
                 std::int64_t rank, std::int64_t rows, float* out, std::int64_t stride) noexcept {
  const auto begin = std::ranges::lower_bound(outputs, first), end = std::ranges::lower_bound(outputs, first + n);
  for (auto at = begin; at != end; ++at) {
    for (std::int64_t r = 0; r < rows; ++r) out[r * stride + *at - first] += sums[r * rank + (at - outputs.begin())];
  }
}

}  // namespace

ActivationForm AdapterForm::of_part(std::int64_t part) const noexcept {
  return {.k = ColumnParts{k}.size(part), .types = types, .remainder = remainder, .orders = kInOrder};
}

AdapterInput::AdapterInput(const AdapterForm& form, std::int64_t rows, std::byte* memory) noexcept
    : form_(form), rows_(rows), part_bytes_(ActivationRows(form.of_part(0), rows, nullptr).bytes()), memory_(memory) {}

std::size_t AdapterInput::bytes() const noexcept {
  std::size_t bytes = 0;
  for (std::int64_t part = 0; part < ColumnParts{form_.k}.count(); ++part) {
    bytes += ActivationRows(form_.of_part(part), rows_, nullptr).bytes();
  }
  return bytes;
}

ActivationRows AdapterInput::part(std::int64_t part) const noexcept {
  return ActivationRows(form_.of_part(part), rows_, memory_ + static_cast<std::size_t>(part) * part_bytes_);
}

void AdapterInput::put(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
                       std::int64_t n) const noexcept {
  const ColumnParts parts{form_.k};
  for (const std::int64_t end = column + n; column < end;) {
    const std::int64_t at = column / parts.width(), first = parts.first(at);
    const std::int64_t count = std::min(end, first + parts.size(at)) - column;
    part(at).put(kernels, row, column - first, x, count);
    x += count;
    column += count;
  }
}

PackedLowRank::PackedLowRank(LowRankSource source, MatmulPrecision precision, const KernelSet& kernels,
                             WorkerTeam& team, WeightArena& arena) {
  const PackedLinear& base = packed(source.base);
  const bool two_terms = precision == MatmulPrecision::kAuto && base.activation_form().remainder;
  form_.k = base.k();
  for (const LowRankSource::Shrink& shrink : source.shrinks) {
    CHECK_EQ(shrink.a.cols, base.k());
    CHECK_EQ(shrink.a.experts, base.experts());
    CHECK(shrink.a.rows % 2 == 0);
    const std::int64_t first = shrinks_.empty() ? 0 : shrinks_.back().last_panel;
    const std::int64_t panels = (shrink.a.rows + kPanelRows - 1) / kPanelRows;
    shrinks_.push_back({first, first + panels, shrink.a.rows, ranks_, shrink.scale});
    ranks_ += panels * kPanelRows;
  }
  const auto by_part = [&](const std::vector<WeightSource>& matrices) {
    std::vector<std::unique_ptr<PackedLinear>> packed_parts;
    for (std::int64_t part = 0; part < parts(); ++part) {
      std::vector<WeightSource> columns;
      for (const WeightSource& matrix : matrices) {
        columns.push_back(columns_of(matrix, ColumnParts{form_.k}.first(part), ColumnParts{form_.k}.size(part)));
      }
      packed_parts.push_back(std::make_unique<PackedLinear>(
          std::move(columns), kernels, two_terms ? MatmulPrecision::kInt8x2 : precision, team, arena, nullptr));
      form_.types |= packed_parts.back()->activation_form().types;
      form_.remainder = form_.remainder || packed_parts.back()->activation_form().remainder;
    }
    return packed_parts;
  };
  std::vector<WeightSource> matrices;
  for (LowRankSource::Shrink& shrink : source.shrinks) matrices.push_back(std::move(shrink.a));
  if (!matrices.empty()) a_ = by_part(matrices);
  for (const auto& part : a_) {
    for (std::size_t i = 0; i < shrinks_.size() && !part->has_two_terms(); ++i) a_views_.push_back(part->view(i));
  }
  for (LowRankSource::Expand& expand : source.expands) {
    const PackedLinear::Stacked place = base.stacked(static_cast<std::size_t>(expand.stacked));
    Expand made{.first_panel = place.first_panel,
                .panels = (place.rows + kPanelRows - 1) / kPanelRows,
                .first_column = place.first_row,
                .rows = place.rows,
                .of_input = expand.shrink == LowRankSource::Expand::kInput,
                .replaces_bias = expand.replaces_bias,
                .outputs = std::move(expand.outputs),
                .factor = std::move(expand.factor),
                .bias = std::move(expand.bias)};
    if (!made.of_input && !shrinks_.empty()) {
      made.rank = shrinks_[static_cast<std::size_t>(expand.shrink)].rank;
      made.first_rank = shrinks_[static_cast<std::size_t>(expand.shrink)].first_rank;
    }
    CHECK(made.factor.empty() || std::ssize(made.factor) == place.rows * base.experts());
    CHECK(made.bias.empty() || std::ssize(made.bias) == place.rows * base.experts());
    has_factors_ = has_factors_ || !made.factor.empty();
    if (expand.b.rows > 0) {
      CHECK_EQ(expand.b.rows, place.rows);
      CHECK_EQ(expand.b.experts, base.experts());
      CHECK(!made.of_input || base.experts() == 1);
      CHECK_EQ(expand.b.cols, made.of_input ? form_.k : made.rank);
      std::vector<WeightSource> b;
      b.push_back(std::move(expand.b));
      if (made.of_input) {
        made.b = by_part(b);
      } else {
        made.b.push_back(
            std::make_unique<PackedLinear>(std::move(b), kernels, MatmulPrecision::kF32, team, arena, nullptr));
        made.of_ranks = made.b.front()->view(0);
      }
    }
    made.plain = !made.of_input && made.outputs.empty() && made.factor.empty() && made.bias.empty();
    expands_.push_back(std::move(made));
  }
}

std::size_t PackedLowRank::packed_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& part : a_) bytes += part->packed_bytes();
  for (const Expand& expand : expands_) {
    for (const auto& part : expand.b) bytes += part->packed_bytes();
    bytes += (expand.outputs.size() + expand.factor.size() + expand.bias.size()) * sizeof(float);
  }
  return bytes;
}

void PackedLowRank::shrink(std::int64_t part, const ActivationRows& x, std::byte* ranks,
                           std::int64_t expert) const noexcept {
  const std::size_t n = shrinks_.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Shrink& one = shrinks_[i];
    if (!a_views_.empty()) {
      const PanelView& a = a_views_[static_cast<std::size_t>(part) * n + i];
      a.multiply({.first = 0, .last = one.last_panel - one.first_panel, .expert = expert},
                 x.view(a.activation, 0, x.rows()), ranks_of(i, x.rows(), ranks), one.rank);
      continue;
    }
    a_[static_cast<std::size_t>(part)]->multiply(one.first_panel, one.last_panel,
                                                 {x, nullptr, false, ranks_of(i, x.rows(), ranks), one.rank, expert});
  }
}

void PackedLowRank::add_part(const KernelSet& kernels, std::int64_t rows, const std::byte* other,
                             std::byte* ranks) const noexcept {
  for (std::size_t i = 0; i < shrinks_.size(); ++i) {
    const float* from = reinterpret_cast<const float*>(other) + rows * shrinks_[i].first_rank;
    kernels.add(from, rows * shrinks_[i].rank, 1.0f, ranks_of(i, rows, ranks));
  }
}

void PackedLowRank::scale(const KernelSet& kernels, float scale, std::int64_t rows, std::byte* ranks) const noexcept {
  for (std::size_t i = 0; i < shrinks_.size(); ++i) {
    kernels.scale(ranks_of(i, rows, ranks), rows * shrinks_[i].rank, shrinks_[i].scale * scale, 0.0f);
  }
}

void PackedLowRank::shrink_all(const KernelSet& kernels, const AdapterInput& x, std::int64_t first_row,
                               std::int64_t rows, float factor, std::byte* ranks, std::int64_t expert) const noexcept {
  shrink(0, x.part(0).part(first_row, rows), ranks, expert);
  std::byte* next = ranks + rank_bytes(rows);
  for (std::int64_t part = 1; part < parts(); ++part) {
    shrink(part, x.part(part).part(first_row, rows), next, expert);
    add_part(kernels, rows, next, ranks);
  }
  scale(kernels, factor, rows, ranks);
}

void PackedLowRank::expand(const KernelSet& kernels, const AdaptedColumns& columns, const AdapterInput& x,
                           std::int64_t first_row, std::int64_t rows, float scale, const std::byte* ranks,
                           std::int64_t expert) const noexcept {
  for (const Expand& part : expands_) {
    const std::int64_t begin = std::max<std::int64_t>(0, columns.first - part.first_panel);
    const std::int64_t end = std::min(part.panels, columns.last - part.first_panel);
    if (begin >= end) continue;
    float* to = columns.out + part.first_column + begin * kPanelRows - columns.first_column;
    if (!part.plain) {
      apply_others(kernels, part, {begin, end, columns.first_column, columns.bias, to, columns.stride}, x, first_row,
                   rows, scale, expert);
    }
    const float* sums = reinterpret_cast<const float*>(ranks) + rows * part.first_rank;
    if (part.of_ranks.panels != nullptr) {
      part.of_ranks.add_product({.first = begin, .last = end, .expert = expert}, sums, rows, part.rank, to,
                                columns.stride);
    } else if (!part.outputs.empty()) {
      const std::int64_t row = begin * kPanelRows, n = std::min(part.rows, end * kPanelRows) - row;
      add_outputs(part.outputs, row, n, sums, part.rank, rows, to, columns.stride);
    }
  }
}

// All but products of what A gives. `columns`: panels of the part, and `out` at the first of them.
void PackedLowRank::apply_others(const KernelSet& kernels, const Expand& part, const AdaptedColumns& columns,
                                 const AdapterInput& x, std::int64_t first_row, std::int64_t rows, float scale,
                                 std::int64_t expert) const noexcept {
  const std::int64_t row = columns.first * kPanelRows, n = std::min(part.rows, columns.last * kPanelRows) - row;
  const float* bias = columns.bias == nullptr ? nullptr : columns.bias + part.first_column + row;
  const std::int64_t own = expert * part.rows + row;
  if (!part.factor.empty()) {
    scale_outputs(part.factor.data() + own, bias, n, rows, scale, columns.out, columns.stride);
  }
  for (std::int64_t r = 0; r < rows && !part.bias.empty(); ++r) {
    kernels.add(part.bias.data() + own, n, scale, columns.out + r * columns.stride);
    if (part.replaces_bias && bias != nullptr) kernels.add(bias, n, -scale, columns.out + r * columns.stride);
  }
  for (std::size_t p = 0; part.of_input && p < part.b.size(); ++p) {
    const ActivationRows input = x.part(static_cast<std::int64_t>(p)).part(first_row, rows);
    part.b[p]->multiply(columns.first, columns.last,
                        {.x = input,
                         .bias = nullptr,
                         .accumulate = true,
                         .out = columns.out,
                         .out_stride = columns.stride,
                         .factor = scale});
  }
}

}  // namespace millrace::backend::cpu
