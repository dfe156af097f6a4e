#include "backend/source_rows.h"

#include <algorithm>

namespace millrace::backend {

void source_rows(const WeightSource& source, std::int64_t first, std::span<float> values) {
  const auto cols = static_cast<std::size_t>(source.cols);
  const std::size_t rows = values.size() / cols, row_bytes = source.format->row_bytes(source.cols);
  std::vector<std::byte> stored(rows * row_bytes);
  source.read(first, static_cast<std::int64_t>(rows), stored);
  std::vector<float> ordered(source.columns.empty() ? 0 : cols);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<float> row = values.subspan(r * cols, cols);
    source.format->unpack(stored.data() + r * row_bytes, row);
    if (!source.factors.empty()) {
      const float factor =
          source.factors[(static_cast<std::size_t>(first) + r) / static_cast<std::size_t>(source.rows)];
      for (float& value : row) value *= factor;
    }
    if (source.columns.empty()) continue;
    for (std::size_t j = 0; j < cols; ++j) ordered[static_cast<std::size_t>(source.columns[j])] = row[j];
    std::copy(ordered.begin(), ordered.end(), row.begin());
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
