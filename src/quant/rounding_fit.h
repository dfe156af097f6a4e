#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// Scales and minima of a block of weights, searched for the least weighted squared error: many candidates are rounded
// with, each is refitted by least squares, and the best is rounded and refitted until it comes no nearer. Sums run in
// four lanes, whatever the processor: the same input gives the same bits everywhere.

namespace millrace::quant {

// The values of a block, and how much the square of each one's error counts. The number of values is a multiple of 16,
// at most 256; all are finite, and no weight is negative.
struct WeightedValues {
  std::span<const float> x, weights;

  WeightedValues part(std::size_t at, std::size_t n) const noexcept {
    return {x.subspan(at, n), weights.subspan(at, n)};
  }
};

// x ~ scale * q, q in [low, high], low < 0 < high. The scale has either sign; 0 for a block of zeros.
float fit_scale(const WeightedValues& block, int low, int high) noexcept;

// x ~ scale * q + offset, q in [0, top], scale >= 0.
struct LineFit {
  float scale = 0.0f, offset = 0.0f;
};
enum class Offsets : std::uint8_t { kAny, kNotPositive };
LineFit fit_line(const WeightedValues& block, int top, Offsets offsets) noexcept;

// x ~ scale * levels[q] for levels of at most 1, in any order; 0 for a block of zeros.
float fit_levels(const WeightedValues& block, std::span<const float, 16> levels) noexcept;

// q = round((x - offset) / scale) in [low, high]; with scale 0 it is 0 or the bound that is nearest to 0. Returns the
// weighted squared error of scale * q + offset.
float round_line(const WeightedValues& block, LineFit line, int low, int high, float* codes) noexcept;

// Sums of which least squares make a scale, or a scale and an offset, for codes q.
struct FitSums {
  float w = 0.0f, wx = 0.0f, wxx = 0.0f, wq = 0.0f, wqq = 0.0f, wxq = 0.0f;
};
FitSums fit_sums(const WeightedValues& block, const float* codes) noexcept;

}  // namespace millrace::quant
