#include "model/adapters/dora.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace millrace::model {
namespace {

// Columns that are summed together: their number is known, so that the compiler makes vectors of them.
constexpr std::size_t kDoraColumns = 128;

// The squares of kDoraColumns values of the row, from column `first` on.
double block_squares(std::span<const float> base, std::span<const float> a, std::span<const float> b, double scale,
                     std::size_t first) noexcept {
  float sums[kDoraColumns] = {};
  for (std::size_t r = 0; r < b.size(); ++r) {
    const float* row = a.data() + r * base.size() + first;
    const float factor = b[r];
    for (std::size_t i = 0; i < kDoraColumns; ++i) sums[i] += factor * row[i];
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < kDoraColumns; ++i) {
    const double value = base[first + i] + scale * sums[i];
    squares += value * value;
  }
  return squares;
}

}  // namespace

double dora_row_length(std::span<const float> base, std::span<const float> a, std::span<const float> b,
                       double scale) noexcept {
  double squares = 0.0;
  std::size_t column = 0;
  for (; column + kDoraColumns <= base.size(); column += kDoraColumns) {
    squares += block_squares(base, a, b, scale, column);
  }
  for (; column < base.size(); ++column) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < b.size(); ++r) sum += b[r] * a[r * base.size() + column];
    const double value = base[column] + scale * sum;
    squares += value * value;
  }
  return std::sqrt(squares);
}

}  // namespace millrace::model
