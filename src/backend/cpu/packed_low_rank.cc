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

}  // namespace

ActivationForm AdapterForm::of_part(std::int64_t part) const noexcept {
  return {.k = ColumnParts{k}.size(part), .types = types, .remainder = remainder, .orders = kInOrder};
}

std::size_t AdapterInput::bytes() const noexcept {
  std::size_t bytes = 0;
  for (std::int64_t part = 0; part < ColumnParts{form_.k}.count(); ++part) {
    bytes += ActivationRows(form_.of_part(part), rows_, nullptr).bytes();
  }
  return bytes;
}

// All parts but the last are of one size.
ActivationRows AdapterInput::part(std::int64_t part) const noexcept {
  const std::size_t before =
      part == 0 ? 0 : static_cast<std::size_t>(part) * ActivationRows(form_.of_part(0), rows_, nullptr).bytes();
  return ActivationRows(form_.of_part(part), rows_, memory_ + before);
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
    CHECK(shrink.a.rows % 2 == 0);
    const std::int64_t first = shrinks_.empty() ? 0 : shrinks_.back().last_panel;
    const std::int64_t panels = (shrink.a.rows + kPanelRows - 1) / kPanelRows;
    shrinks_.push_back({first, first + panels, shrink.a.rows, ranks_, shrink.scale});
    ranks_ += panels * kPanelRows;
  }
  const ColumnParts parts{form_.k};
  for (std::int64_t part = 0; part < parts.count(); ++part) {
    std::vector<WeightSource> matrices;
    for (const LowRankSource::Shrink& shrink : source.shrinks) {
      matrices.push_back(columns_of(shrink.a, parts.first(part), parts.size(part)));
    }
    a_.push_back(std::make_unique<PackedLinear>(
        std::move(matrices), kernels, two_terms ? MatmulPrecision::kInt8x2 : precision, team, arena, nullptr));
    form_.types |= a_.back()->activation_form().types;
    form_.remainder = form_.remainder || a_.back()->activation_form().remainder;
  }
  for (LowRankSource::Expand& expand : source.expands) {
    const PackedLinear::Stacked place = base.stacked(static_cast<std::size_t>(expand.stacked));
    CHECK_EQ(expand.b.rows, place.rows);
    CHECK_EQ(expand.b.cols, shrinks_[static_cast<std::size_t>(expand.shrink)].rank);
    std::vector<WeightSource> b;
    b.push_back(std::move(expand.b));
    expands_.push_back(
        {place.first_panel, place.first_row, static_cast<std::size_t>(expand.shrink),
         std::make_unique<PackedLinear>(std::move(b), kernels, MatmulPrecision::kF32, team, arena, nullptr)});
  }
}

std::size_t PackedLowRank::packed_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& part : a_) bytes += part->packed_bytes();
  for (const Expand& expand : expands_) bytes += expand.b->packed_bytes();
  return bytes;
}

void PackedLowRank::shrink(std::int64_t part, const ActivationRows& x, std::byte* ranks) const noexcept {
  for (std::size_t i = 0; i < shrinks_.size(); ++i) {
    const Shrink& one = shrinks_[i];
    a_[static_cast<std::size_t>(part)]->multiply(one.first_panel, one.last_panel,
                                                 {x, nullptr, false, ranks_of(i, x.rows(), ranks), one.rank});
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
                               std::int64_t rows, float factor, std::byte* ranks) const noexcept {
  shrink(0, x.part(0).part(first_row, rows), ranks);
  std::byte* next = ranks + rank_bytes(rows);
  for (std::int64_t part = 1; part < parts(); ++part) {
    shrink(part, x.part(part).part(first_row, rows), next);
    add_part(kernels, rows, next, ranks);
  }
  scale(kernels, factor, rows, ranks);
}

void PackedLowRank::expand(std::int64_t first, std::int64_t last, std::int64_t first_column, std::int64_t rows,
                           const std::byte* ranks, float* out, std::int64_t out_stride) const noexcept {
  for (const Expand& part : expands_) {
    const std::int64_t begin = std::max<std::int64_t>(0, first - part.first_panel);
    const std::int64_t end = std::min(part.b->panels(), last - part.first_panel);
    if (begin >= end) continue;
    const Shrink& shrink = shrinks_[part.shrink];
    const float* x = reinterpret_cast<const float*>(ranks) + rows * shrink.first_rank;
    float* to = out + part.first_column + begin * kPanelRows - first_column;
    part.b->add_product(begin, end, x, rows, to, out_stride);
  }
}

}  // namespace millrace::backend::cpu
