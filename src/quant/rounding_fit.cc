#include "quant/rounding_fit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace millrace::quant {
namespace {

using FourFloats [[gnu::vector_size(16)]] = float;
constexpr std::size_t kLanes = 4;

inline FourFloats four_at(const float* at) noexcept {
  FourFloats v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

inline FourFloats all_four(float v) noexcept { return FourFloats{v, v, v, v}; }

inline float sum_of(FourFloats v) noexcept { return (v[0] + v[1]) + (v[2] + v[3]); }

// The nearest integer in [low, high]: from 2^23 on floats have no fractions.
inline FourFloats nearest_code(FourFloats v, FourFloats low, FourFloats high) noexcept {
  constexpr float kNoFractions = 12582912.0f;  // 1.5 * 2^23
  v = v < low ? low : v;
  v = v > high ? high : v;
  return (v + kNoFractions) - kNoFractions;
}

// What least squares need of the values alone.
FitSums value_sums(const WeightedValues& block) noexcept {
  FourFloats w{}, wx{}, wxx{};
  for (std::size_t i = 0; i < block.x.size(); i += kLanes) {
    const FourFloats x = four_at(&block.x[i]), weight = four_at(&block.weights[i]);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
  }
  return {.w = sum_of(w), .wx = sum_of(wx), .wxx = sum_of(wxx)};
}

// Adds the sums over the codes round((x - offset) * inverse) in [low, high].
void add_code_sums(const WeightedValues& block, float offset, float inverse, int low, int high,
                   FitSums& sums) noexcept {
  const FourFloats from = all_four(offset), by = all_four(inverse);
  const FourFloats least = all_four(static_cast<float>(low)), most = all_four(static_cast<float>(high));
  FourFloats wq{}, wqq{}, wxq{};
  for (std::size_t i = 0; i < block.x.size(); i += kLanes) {
    const FourFloats x = four_at(&block.x[i]);
    const FourFloats q = nearest_code((x - from) * by, least, most);
    const FourFloats weighted = four_at(&block.weights[i]) * q;
    wq += weighted;
    wqq += weighted * q;
    wxq += weighted * x;
  }
  sums.wq = sum_of(wq), sums.wqq = sum_of(wqq), sums.wxq = sum_of(wxq);
}

bool is_usable(float inverse) noexcept { return std::isfinite(inverse) && inverse != 0.0f; }

struct RatedLine {
  LineFit line;
  float gain = 0.0f;  // by how much the error is below that of all zeros
};

// The best line for the codes of these sums; gain 0 if there is none with a positive scale.
RatedLine best_line(const FitSums& s, Offsets offsets) noexcept {
  const float determinant = s.w * s.wqq - s.wq * s.wq;
  if (determinant > 0.0f) {
    const float scale = (s.w * s.wxq - s.wx * s.wq) / determinant;
    const float offset = (s.wx - scale * s.wq) / s.w;
    if (scale > 0.0f && (offset <= 0.0f || offsets == Offsets::kAny)) {
      return {{scale, offset}, scale * s.wxq + offset * s.wx};
    }
  }
  if (!(s.wqq > 0.0f) || !(s.wxq > 0.0f)) return {};
  const float scale = s.wxq / s.wqq;  // through 0
  return {{scale, 0.0f}, scale * s.wxq};
}

// A block's candidates for the extreme's place, in steps of the scale: below the outermost code, on it, and beyond,
// where the extreme is cut off and the others come nearer.
constexpr int kPlaces = 16;
constexpr float kFirstPlace = -1.0f, kPlaceStep = 0.25f;
constexpr int kRefits = 4;  // at most; most blocks stand still after two

}  // namespace

FitSums fit_sums(const WeightedValues& block, const float* codes) noexcept {
  FitSums sums = value_sums(block);
  FourFloats wq{}, wqq{}, wxq{};
  for (std::size_t i = 0; i < block.x.size(); i += kLanes) {
    const FourFloats q = four_at(codes + i), weighted = four_at(&block.weights[i]) * q;
    wq += weighted;
    wqq += weighted * q;
    wxq += weighted * four_at(&block.x[i]);
  }
  sums.wq = sum_of(wq), sums.wqq = sum_of(wqq), sums.wxq = sum_of(wxq);
  return sums;
}

float round_line(const WeightedValues& block, LineFit line, int low, int high, float* codes) noexcept {
  const float inverse = 1.0f / line.scale;
  const FourFloats scale = all_four(line.scale), offset = all_four(line.offset);
  const FourFloats by = all_four(is_usable(inverse) ? inverse : 0.0f);
  const FourFloats least = all_four(static_cast<float>(low)), most = all_four(static_cast<float>(high));
  FourFloats error{};
  for (std::size_t i = 0; i < block.x.size(); i += kLanes) {
    const FourFloats x = four_at(&block.x[i]);
    const FourFloats q = nearest_code((x - offset) * by, least, most);
    std::memcpy(codes + i, &q, sizeof q);
    const FourFloats apart = scale * q + offset - x;
    error += four_at(&block.weights[i]) * apart * apart;
  }
  return sum_of(error);
}

float fit_scale(const WeightedValues& block, int low, int high) noexcept {
  float extreme = 0.0f;
  for (const float v : block.x) extreme = std::fabs(v) > std::fabs(extreme) ? v : extreme;
  float best = 0.0f, best_gain = 0.0f;
  const auto try_inverse = [&](float inverse) {
    if (!is_usable(inverse)) return false;
    FitSums sums;
    add_code_sums(block, 0.0f, inverse, low, high, sums);
    if (!(sums.wqq > 0.0f)) return false;
    const float gain = sums.wxq * (sums.wxq / sums.wqq);
    if (!(gain > best_gain)) return false;
    best_gain = gain, best = sums.wxq / sums.wqq;
    return true;
  };
  for (const int bound : {low, high}) {
    const float sign = bound < 0 ? -1.0f : 1.0f;
    for (int i = 0; i < kPlaces; ++i) {
      const float place = static_cast<float>(std::abs(bound)) + kFirstPlace + kPlaceStep * static_cast<float>(i);
      if (place > 0.0f) try_inverse(sign * place / extreme);
    }
  }
  for (int i = 0; i < kRefits && try_inverse(1.0f / best); ++i) {
  }
  return best;
}

LineFit fit_line(const WeightedValues& block, int top, Offsets offsets) noexcept {
  const auto [low, high] = std::ranges::minmax(block.x);
  const float start = offsets == Offsets::kNotPositive ? std::min(low, 0.0f) : low;
  const float range = high - start;
  RatedLine best{{0.0f, start}, -INFINITY};
  if (!(range > 0.0f)) return best.line;
  FitSums sums = value_sums(block);
  const auto try_line = [&](float offset, float inverse) {
    if (!is_usable(inverse)) return false;
    add_code_sums(block, offset, inverse, 0, top, sums);
    const RatedLine line = best_line(sums, offsets);
    if (!(line.gain > best.gain) || line.line.scale == 0.0f) return false;
    best = line;
    return true;
  };
  // The lowest values are cut off too: by so many steps.
  for (const float cut : {0.0f, 0.5f, 1.0f}) {
    for (int i = 0; i < kPlaces; ++i) {
      const float place = static_cast<float>(top) + kFirstPlace + kPlaceStep * static_cast<float>(i);
      const float inverse = place / range;
      try_line(start + cut / inverse, inverse);
    }
  }
  for (int i = 0; i < kRefits && try_line(best.line.offset, 1.0f / best.line.scale); ++i) {
  }
  return best.line;
}

float fit_levels(const WeightedValues& block, std::span<const float, 16> levels) noexcept {
  float largest = 0.0f;
  for (const float v : block.x) largest = std::max(largest, std::fabs(v));
  float best = 0.0f, best_gain = 0.0f;
  std::array<float, 16> rising;
  std::ranges::copy(levels, rising.begin());
  std::ranges::sort(rising);
  std::array<float, 15> between;
  for (std::size_t i = 0; i < between.size(); ++i) between[i] = 0.5f * (rising[i] + rising[i + 1]);
  const auto try_scale = [&](float scale) {
    const float inverse = 1.0f / scale;
    if (!is_usable(inverse)) return false;
    float wqq = 0.0f, wxq = 0.0f;
    for (std::size_t i = 0; i < block.x.size(); ++i) {
      std::size_t code = 0;
      for (const float edge : between) code += block.x[i] * inverse > edge ? 1 : 0;
      const float weighted = block.weights[i] * rising[code];
      wqq += weighted * rising[code];
      wxq += weighted * block.x[i];
    }
    if (!(wqq > 0.0f) || !(wxq > 0.0f) || !(wxq * (wxq / wqq) > best_gain)) return false;
    best_gain = wxq * (wxq / wqq), best = wxq / wqq;
    return true;
  };
  for (float part = 0.6f; part < 1.03f; part += 0.04f) try_scale(part * largest);
  for (int i = 0; i < kRefits && try_scale(best); ++i) {
  }
  return best;
}

}  // namespace millrace::quant
