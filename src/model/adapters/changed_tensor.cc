#include "model/adapters/changed_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "quant/searched_rounding.h"

namespace millrace::model {

struct ChangedTensor::RowSpace {
  std::vector<std::byte> stored;
  std::vector<float> values, added, rounded;
  double squares = 0.0, errors = 0.0;
};

ChangedTensor::ChangedTensor(const RandomAccessFile& file, const checkpoint::RawTensor& tensor,
                             const quant::QuantFormat& format, std::vector<MatrixTerm> terms,
                             std::shared_ptr<RoundingError> error)
    : file_(file),
      stored_(tensor),
      format_(format),
      rows_(tensor.shape.rows()),
      cols_(tensor.shape.back()),
      stored_row_bytes_(tensor.format->row_bytes(cols_)),
      row_bytes_(format.row_bytes(cols_)),
      terms_(std::move(terms)),
      error_(std::move(error)) {}

bool ChangedTensor::is_changed(std::int64_t row) const noexcept {
  return std::ranges::any_of(terms_, [row](const MatrixTerm& term) {
    const auto factors = std::span(term.left).subspan(static_cast<std::size_t>(row * term.rank),
                                                      static_cast<std::size_t>(term.rank));
    return std::ranges::any_of(factors, [](float factor) { return factor != 0.0f; });
  });
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
  if (changed) {
    space.added.assign(n, 0.0f);
    float* added = space.added.data();
    for (const MatrixTerm& term : terms_) {
      for (std::int64_t r = 0; r < term.rank; ++r) {
        const float factor = term.left[static_cast<std::size_t>(row * term.rank + r)];
        if (factor == 0.0f) continue;
        const float* right = term.right.data() + r * cols_;
        for (std::size_t i = 0; i < n; ++i) added[i] += factor * right[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) space.values[i] += added[i];
  }
  quant::pack_searched(format_, space.values, {}, out);
  format_.unpack(out, space.rounded);
  for (std::size_t i = 0; i < n; ++i) {
    const double value = space.values[i], error = space.rounded[i] - value;
    space.squares += value * value;
    space.errors += error * error;
  }
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
  error_->add(space.squares, space.errors);
  return {};
}

}  // namespace millrace::model
