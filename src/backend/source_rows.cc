#include "backend/source_rows.h"

#include <algorithm>

namespace millrace::backend {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{1} << 16;

}  // namespace

void source_rows(const WeightSource& source, std::int64_t first, std::span<float> values) {
  const auto cols = static_cast<std::size_t>(source.cols);
  const std::size_t rows = values.size() / cols, row_bytes = source.format->row_bytes(source.cols);
  const std::size_t most = std::clamp<std::size_t>(kBytesAtOnce / row_bytes, 1, std::max<std::size_t>(1, rows));
  std::vector<std::byte> stored(most * row_bytes);
  std::vector<float> ordered(source.columns.empty() ? 0 : cols);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::int64_t number = first + static_cast<std::int64_t>(r);
    if (r % most == 0) {
      const std::size_t count = std::min(most, rows - r);
      source.read(number, static_cast<std::int64_t>(count), std::span(stored).first(count * row_bytes));
    }
    const std::span<float> row = values.subspan(r * cols, cols);
    source.format->unpack(stored.data() + r % most * row_bytes, row);
    if (!source.factors.empty()) {
      const float factor = source.factors[static_cast<std::size_t>(number / source.rows)];
      for (float& value : row) value *= factor;
    }
    if (source.columns.empty()) continue;
    for (std::size_t j = 0; j < cols; ++j) ordered[static_cast<std::size_t>(source.columns[j])] = row[j];
    std::ranges::copy(ordered, row.begin());
  }
}

std::vector<float> source_row(const WeightSource& source, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(source.cols));
  source_rows(source, row, values);
  return values;
}

std::vector<float> source_values(const WeightSource& source, std::int64_t expert) {
  std::vector<float> values(static_cast<std::size_t>(source.rows * source.cols));
  source_rows(source, expert * source.rows, values);
  return values;
}

}  // namespace millrace::backend
