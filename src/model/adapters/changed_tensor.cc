#include "model/adapters/changed_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "quant/searched_rounding.h"

namespace millrace::model {

struct ChangedTensor::RowSpace {
  std::vector<std::byte> stored;
  std::vector<float> values, added, rounded;
};

ChangedTensor::ChangedTensor(const RandomAccessFile& file, const checkpoint::RawTensor& tensor,
                             const quant::QuantFormat& format, std::vector<MatrixTerm> terms,
                             std::shared_ptr<RoundingError> error)
    : file_(file),
      stored_(tensor),
      format_(format),
      rows_(tensor.shape.rank() == 0 ? 1 : tensor.shape.rows()),
      cols_(tensor.shape.back()),
      stored_row_bytes_(tensor.format->row_bytes(cols_)),
      row_bytes_(format.row_bytes(cols_)),
      terms_(std::move(terms)),
      error_(std::move(error)) {}

bool MatrixTerm::changes(std::int64_t row) const noexcept {
  row -= first_row;
  if (row < 0 || (rows > 0 && row >= rows)) return false;
  const auto i = static_cast<std::size_t>(row), n = static_cast<std::size_t>(rank);
  if (!column_factors.empty() || (!row_factors.empty() && row_factors[i] != 1.0f)) return true;
  if (!dense.empty()) return dense_rows.empty() || std::ranges::binary_search(dense_rows, row);
  return !left.empty() &&
         std::ranges::any_of(std::span(left).subspan(i * n, n), [](float factor) { return factor != 0.0f; });
}

std::span<const float> MatrixTerm::dense_row(std::int64_t row, std::size_t cols) const noexcept {
  if (dense.empty()) return {};
  auto at = static_cast<std::size_t>(row);
  if (!dense_rows.empty()) {
    const auto found = std::ranges::lower_bound(dense_rows, row);
    if (found == dense_rows.end() || *found != row) return {};
    at = static_cast<std::size_t>(found - dense_rows.begin());
  }
  return std::span(dense).subspan(at * cols, cols);
}

void MatrixTerm::apply(std::int64_t row, std::span<float> values, std::span<float> added) const noexcept {
  row -= first_row;
  const std::size_t n = values.size();
  if (!row_factors.empty()) {
    for (float& value : values) value *= row_factors[static_cast<std::size_t>(row)];
  }
  for (std::size_t i = 0; i < column_factors.size(); ++i) values[i] *= column_factors[i];
  if (!left.empty()) {
    std::ranges::fill(added, 0.0f);
    for (std::int64_t r = 0; r < rank; ++r) {
      const float factor = left[static_cast<std::size_t>(row * rank + r)];
      if (factor == 0.0f) continue;
      const float* from = right.data() + static_cast<std::size_t>(r) * n;
      for (std::size_t i = 0; i < n; ++i) added[i] += factor * from[i];
    }
    for (std::size_t i = 0; i < n; ++i) values[i] += added[i];
  }
  const std::span<const float> more = dense_row(row, n);
  for (std::size_t i = 0; i < more.size(); ++i) values[i] += more[i];
}

bool ChangedTensor::is_changed(std::int64_t row) const noexcept {
  return std::ranges::any_of(terms_, [row](const MatrixTerm& term) { return term.changes(row); });
}

Result<void> ChangedTensor::read_row(std::int64_t row, RowSpace& space, std::byte* out) const {
  const std::uint64_t at = stored_.offset + static_cast<std::uint64_t>(row) * stored_row_bytes_;
  space.stored.resize(stored_row_bytes_);
  if (auto read = file_.read(at, space.stored); !read) return read;
  const bool changed = is_changed(row);
  if (!changed && stored_.format == &format_) {
    std::memcpy(out, space.stored.data(), row_bytes_);
    return {};
  }
  const auto n = static_cast<std::size_t>(cols_);
  space.values.resize(n);
  space.rounded.resize(n);
  stored_.format->unpack(space.stored.data(), space.values);
  space.added.resize(n);
  for (const MatrixTerm& term : terms_) {
    if (term.changes(row)) term.apply(row, space.values, space.added);
  }
  quant::pack_searched(format_, space.values, {}, out);
  format_.unpack(out, space.rounded);
  error_->add(space.values, space.rounded);
  return {};
}

Result<void> ChangedTensor::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size() || out.size() > size() - offset) {
    return make_error(ErrorCode::kBadFile, stored_.name, "tensor '{}': ends at {}, {} bytes expected at {}",
                      stored_.name, size(), out.size(), offset);
  }
  RowSpace space;
  std::vector<std::byte> whole(row_bytes_);
  while (!out.empty()) {
    const auto row = static_cast<std::int64_t>(offset / row_bytes_);
    const std::size_t within = offset % row_bytes_, n = std::min(out.size(), row_bytes_ - within);
    std::byte* to = n == row_bytes_ ? out.data() : whole.data();
    if (auto read = read_row(row, space, to); !read) return read;
    if (n < row_bytes_) std::memcpy(out.data(), whole.data() + within, n);
    out = out.subspan(n);
    offset += n;
  }
  return {};
}

}  // namespace millrace::model
