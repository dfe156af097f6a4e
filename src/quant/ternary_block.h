#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "quant/block32.h"

// Quantization shared by GGUF's formats of values -d, 0 and d (tq1_0, tq2_0, q2_0).

namespace millrace::quant {

// Writes codes of 0, 1 and 2 for the nearest of -d, 0 and d, ties away from 0, where d is the largest magnitude, and
// returns d.
inline float ternary_codes(std::span<const float> x, std::uint8_t* codes) noexcept {
  float d = 0.0f;
  for (const float v : x) d = std::max(d, std::fabs(v));
  const float inverse = d < 0x1p-126f ? 0.0f : 1.0f / d;  // f16 has no such d
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float nearest = std::round(std::clamp(x[i] * inverse, -1.0f, 1.0f));
    codes[i] = static_cast<std::uint8_t>(1 + static_cast<int>(nearest));
  }
  return d;
}

}  // namespace millrace::quant
