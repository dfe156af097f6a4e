#include "backend/cpu/head_rotation.h"

#include <cmath>

namespace millrace::backend::cpu {

void rotate_head(float* x, std::int64_t padded_dim) noexcept {
  const std::int64_t block = padded_dim & -padded_dim;
  const float factor = 1.0f / std::sqrt(static_cast<float>(block));
  for (float* end = x + padded_dim; x < end; x += block) {
    for (std::int64_t half = 1; half < block; half *= 2) {
      for (std::int64_t first = 0; first < block; first += 2 * half) {
        float *a = x + first, *b = a + half;
        for (std::int64_t i = 0; i < half; ++i) {
          const float sum = a[i] + b[i], difference = a[i] - b[i];
          a[i] = sum;
          b[i] = difference;
        }
      }
    }
    for (std::int64_t i = 0; i < block; ++i) x[i] *= factor;
  }
}

}  // namespace millrace::backend::cpu
