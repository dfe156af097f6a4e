#include "quant/searched_super_block.h"

#include <algorithm>
#include <cmath>

namespace millrace::quant {
namespace {

constexpr int kTurns = 3;  // of scales and super-scale; a fourth gains below a thousandth of the error
constexpr int kLargest6Bits = 63;
constexpr std::size_t kAffineSub = 32, kSignedSub = 16;

// Codes as the least squares see them.
struct Rounded {
  std::array<float, kSuperBlock> codes;
  float error = 0.0f;
};

// The sub-block's scale and minimum, in steps of d and dmin, among the neighbours of those that came nearest before.
float choose_affine(const WeightedValues& sub, const AffineSuperBlock& block, int top, std::uint8_t& scale,
                    std::uint8_t& minimum, float* codes) noexcept {
  std::array<float, kAffineSub> tried;
  float best = INFINITY;
  const int scale_at = scale, minimum_at = minimum;
  for (int s = std::max(0, scale_at - 1); s <= std::min(kLargest6Bits, scale_at + 1); ++s) {
    for (int m = std::max(0, minimum_at - 1); m <= std::min(kLargest6Bits, minimum_at + 1); ++m) {
      const LineFit line{block.d * static_cast<float>(s), -block.dmin * static_cast<float>(m)};
      const float error = round_line(sub, line, 0, top, tried.data());
      if (!(error < best)) continue;
      best = error, scale = static_cast<std::uint8_t>(s), minimum = static_cast<std::uint8_t>(m);
      std::ranges::copy(tried, codes);
    }
  }
  return best;
}

// d and dmin of the least error, for codes, scales and minima as they are: x ~ d * (scale q) - dmin * minimum.
void refit_affine(const WeightedValues& block, const Rounded& rounded, AffineSuperBlock& values) noexcept {
  double aa = 0.0, ab = 0.0, bb = 0.0, xa = 0.0, xb = 0.0;
  for (std::size_t s = 0; s < 8; ++s) {
    const FitSums sums = fit_sums(block.part(s * kAffineSub, kAffineSub), &rounded.codes[s * kAffineSub]);
    const double scale = values.sub.scales[s], minimum = values.sub.minima[s];
    aa += scale * scale * sums.wqq;
    ab += scale * minimum * sums.wq;
    bb += minimum * minimum * sums.w;
    xa += scale * sums.wxq;
    xb += minimum * sums.wx;
  }
  const double determinant = aa * bb - ab * ab;
  float d = values.d, dmin = values.dmin;
  if (determinant > 1e-9 * aa * bb) {
    d = static_cast<float>((xa * bb - ab * xb) / determinant);
    dmin = static_cast<float>((ab * xa - aa * xb) / determinant);
  } else if (aa > 0.0) {
    d = static_cast<float>((xa + ab * values.dmin) / aa);
  }
  if (d > 0.0f) values.d = as_half(d);
  if (dmin > 0.0f) values.dmin = as_half(dmin);
}

float choose_signed(const WeightedValues& sub, float d, std::int8_t& scale, float* codes) noexcept {
  std::array<float, kSignedSub> tried;
  float best = INFINITY;
  const int at = scale;
  for (int s = std::max(-128, at - 1); s <= std::min(127, at + 1); ++s) {
    const float error = round_line(sub, {d * static_cast<float>(s), 0.0f}, -32, 31, tried.data());
    if (!(error < best)) continue;
    best = error, scale = static_cast<std::int8_t>(s);
    std::ranges::copy(tried, codes);
  }
  return best;
}

}  // namespace

AffineSuperBlock search_affine(const WeightedValues& block, int levels) noexcept {
  std::array<LineFit, 8> fits;
  float largest = 0.0f, lowest = 0.0f;
  for (std::size_t s = 0; s < fits.size(); ++s) {
    fits[s] = fit_line(block.part(s * kAffineSub, kAffineSub), levels - 1, Offsets::kNotPositive);
    largest = std::max(largest, fits[s].scale);
    lowest = std::min(lowest, fits[s].offset);
  }
  AffineSuperBlock values;
  values.d = as_half(largest / kLargest6Bits);
  values.dmin = as_half(-lowest / kLargest6Bits);
  for (std::size_t s = 0; s < fits.size(); ++s) {
    values.sub.scales[s] = static_cast<std::uint8_t>(round_to_step(fits[s].scale, values.d, 0, kLargest6Bits));
    values.sub.minima[s] = static_cast<std::uint8_t>(round_to_step(-fits[s].offset, values.dmin, 0, kLargest6Bits));
  }
  AffineSuperBlock best;
  Rounded rounded;
  float least = INFINITY;
  for (int turn = 0; turn < kTurns; ++turn) {
    if (turn > 0) refit_affine(block, rounded, values);
    rounded.error = 0.0f;
    for (std::size_t s = 0; s < fits.size(); ++s) {
      rounded.error += choose_affine(block.part(s * kAffineSub, kAffineSub), values, levels - 1, values.sub.scales[s],
                                     values.sub.minima[s], &rounded.codes[s * kAffineSub]);
    }
    if (!(rounded.error < least)) break;
    least = rounded.error, best = values;
    std::ranges::transform(rounded.codes, best.codes.begin(), [](float q) { return static_cast<std::uint8_t>(q); });
  }
  return best;
}

SignedSuperBlock search_signed(const WeightedValues& block) noexcept {
  std::array<float, 16> fits;
  float extreme = 0.0f;
  for (std::size_t s = 0; s < fits.size(); ++s) {
    fits[s] = fit_scale(block.part(s * kSignedSub, kSignedSub), -32, 31);
    extreme = std::fabs(fits[s]) > std::fabs(extreme) ? fits[s] : extreme;
  }
  SignedSuperBlock values{.d = as_half(extreme / -128.0f)};
  for (std::size_t s = 0; s < fits.size(); ++s) {
    values.scales[s] = static_cast<std::int8_t>(round_to_step(fits[s], values.d, -128, 127));
  }
  SignedSuperBlock best;
  Rounded rounded;
  float least = INFINITY;
  for (int turn = 0; turn < kTurns; ++turn) {
    double product = 0.0, norm = 0.0;
    for (std::size_t s = 0; turn > 0 && s < fits.size(); ++s) {
      const FitSums sums = fit_sums(block.part(s * kSignedSub, kSignedSub), &rounded.codes[s * kSignedSub]);
      product += static_cast<double>(values.scales[s]) * sums.wxq;
      norm += static_cast<double>(values.scales[s]) * values.scales[s] * sums.wqq;
    }
    if (norm > 0.0) values.d = as_half(static_cast<float>(product / norm));
    rounded.error = 0.0f;
    for (std::size_t s = 0; s < fits.size(); ++s) {
      rounded.error += choose_signed(block.part(s * kSignedSub, kSignedSub), values.d, values.scales[s],
                                     &rounded.codes[s * kSignedSub]);
    }
    if (!(rounded.error < least)) break;
    least = rounded.error, best = values;
    std::ranges::transform(rounded.codes, best.codes.begin(),
                           [](float q) { return static_cast<std::uint8_t>(q + 32.0f); });
  }
  return best;
}

}  // namespace millrace::quant
