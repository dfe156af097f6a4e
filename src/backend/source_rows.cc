#include "backend/source_rows.h"

namespace millrace::backend {

std::vector<float> source_row(const WeightSource& source, std::int64_t row) {
  std::vector<std::byte> stored(source.format->row_bytes(source.cols));
  source.read(row, 1, stored);
  std::vector<float> values(static_cast<std::size_t>(source.cols));
  source.format->unpack(stored.data(), values);
  if (!source.factors.empty()) {
    const float factor = source.factors[static_cast<std::size_t>(row / source.rows)];
    for (float& value : values) value *= factor;
  }
  if (source.columns.empty()) return values;
  std::vector<float> ordered(values.size());
  for (std::size_t j = 0; j < values.size(); ++j) ordered[static_cast<std::size_t>(source.columns[j])] = values[j];
  return ordered;
}

std::vector<float> source_values(const WeightSource& source, std::int64_t expert) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(source.rows * source.cols));
  for (std::int64_t row = 0; row < source.rows; ++row) {
    const std::vector<float> one = source_row(source, expert * source.rows + row);
    values.insert(values.end(), one.begin(), one.end());
  }
  return values;
}

}  // namespace millrace::backend
