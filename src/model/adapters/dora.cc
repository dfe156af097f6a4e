#include "model/adapters/dora.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace millrace::model {

// Columns at a time, so that sums stay in registers or the first cache.
double dora_row_length(std::span<const float> base, std::span<const float> a, std::span<const float> b,
                       double scale) noexcept {
  constexpr std::size_t kColumns = 256;
  double squares = 0.0;
  for (std::size_t first = 0; first < base.size(); first += kColumns) {
    const std::size_t n = std::min(kColumns, base.size() - first);
    float sums[kColumns] = {};
    for (std::size_t r = 0; r < b.size(); ++r) {
      const float* row = a.data() + r * base.size() + first;
      for (std::size_t i = 0; i < n; ++i) sums[i] += b[r] * row[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double value = base[first + i] + scale * sums[i];
      squares += value * value;
    }
  }
  return std::sqrt(squares);
}

}  // namespace millrace::model
