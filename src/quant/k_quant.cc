#include "quant/k_quant.h"

#include <algorithm>
#include <cmath>

namespace millrace::quant {
namespace {

// Candidates around the scale that spans the block exactly: a slightly smaller one rounds the bulk better and clips the
// extreme.
constexpr int kCandidates = 9, kMiddleCandidate = kCandidates / 2;
constexpr float kCandidateStep = 0.1f;

float squared_error(std::span<const float> x, std::span<const float> fitted) noexcept {
  float sum = 0.0f;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - fitted[i]) * (x[i] - fitted[i]);
  return sum;
}

}  // namespace

int round_to_step(float value, float step, int low, int high) noexcept {
  if (step == 0.0f) return std::clamp(0, low, high);
  const float q = std::nearbyint(value / step);
  if (!(q > static_cast<float>(low))) return low;
  return q >= static_cast<float>(high) ? high : static_cast<int>(q);
}

float fit_symmetric(std::span<const float> x, int levels) noexcept {
  float extreme = 0.0f;
  for (const float v : x) {
    if (std::fabs(v) > std::fabs(extreme)) extreme = v;
  }
  if (extreme == 0.0f) return 0.0f;
  const int half = levels / 2;
  float best_scale = extreme / static_cast<float>(-half), best_error = INFINITY;
  std::array<float, kSuperBlock> fitted;
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const float reach = static_cast<float>(half) + kCandidateStep * static_cast<float>(candidate - kMiddleCandidate);
    const float step = -extreme / reach;
    float dot = 0.0f, norm = 0.0f;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto q = static_cast<float>(round_to_step(x[i], step, -half, half - 1));
      fitted[i] = q;
      dot += x[i] * q;
      norm += q * q;
    }
    if (norm == 0.0f) continue;
    const float scale = dot / norm;
    for (std::size_t i = 0; i < x.size(); ++i) fitted[i] *= scale;
    const float error = squared_error(x, std::span(fitted).first(x.size()));
    if (error < best_error) best_error = error, best_scale = scale;
  }
  return best_scale;
}

SubBlockFit fit_affine(std::span<const float> x, int levels) noexcept {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const float start = std::min(*low, 0.0f);
  const float range = *high - start;
  if (!(range > 0.0f)) return {.scale = 0.0f, .minimum = -start};
  const auto n = static_cast<float>(x.size());
  const int top = levels - 1;
  SubBlockFit best{.scale = range / static_cast<float>(top), .minimum = -start};
  float best_error = INFINITY;
  std::array<float, kSuperBlock> codes, fitted;
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const float reach = static_cast<float>(top) + kCandidateStep * static_cast<float>(candidate - kMiddleCandidate);
    const float step = range / reach;
    float sum_q = 0.0f, sum_qq = 0.0f, sum_x = 0.0f, sum_xq = 0.0f;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto q = static_cast<float>(round_to_step(x[i] - start, step, 0, top));
      codes[i] = q;
      sum_q += q;
      sum_qq += q * q;
      sum_x += x[i];
      sum_xq += x[i] * q;
    }
    // Least squares of x = scale * q + offset; an offset above 0 is not representable, then the line goes through 0.
    const float determinant = n * sum_qq - sum_q * sum_q;
    if (determinant <= 0.0f) continue;
    float scale = (n * sum_xq - sum_x * sum_q) / determinant;
    float offset = (sum_x - scale * sum_q) / n;
    if (offset > 0.0f) offset = 0.0f, scale = sum_xq / sum_qq;
    if (!(scale > 0.0f)) continue;
    for (std::size_t i = 0; i < x.size(); ++i) fitted[i] = scale * codes[i] + offset;
    const float error = squared_error(x, std::span(fitted).first(x.size()));
    if (error < best_error) best_error = error, best = {.scale = scale, .minimum = -offset};
  }
  return best;
}

// Bytes 0-3: low 6 bits scales 0-3; 4-7: minima 0-3; 8-11: low nibbles scales 4-7, high nibbles minima 4-7, whose upper
// two bits are the top two bits of bytes 0-3 and 4-7.
ScalesAndMinima load_scales_and_minima(const std::byte* at) noexcept {
  ScalesAndMinima out;
  for (int i = 0; i < 4; ++i) {
    const int a = std::to_integer<int>(at[i]), b = std::to_integer<int>(at[i + 4]), c = std::to_integer<int>(at[i + 8]);
    out.scales[i] = static_cast<std::uint8_t>(a & 63);
    out.minima[i] = static_cast<std::uint8_t>(b & 63);
    out.scales[i + 4] = static_cast<std::uint8_t>((c & 15) | (a >> 6) << 4);
    out.minima[i + 4] = static_cast<std::uint8_t>((c >> 4) | (b >> 6) << 4);
  }
  return out;
}

void store_scales_and_minima(std::byte* at, const ScalesAndMinima& values) noexcept {
  for (int i = 0; i < 4; ++i) {
    at[i] = static_cast<std::byte>(values.scales[i] | (values.scales[i + 4] >> 4) << 6);
    at[i + 4] = static_cast<std::byte>(values.minima[i] | (values.minima[i + 4] >> 4) << 6);
    at[i + 8] = static_cast<std::byte>((values.scales[i + 4] & 15) | (values.minima[i + 4] & 15) << 4);
  }
}

AffineSuperBlock quantize_affine(std::span<const float> x, int levels) noexcept {
  std::array<SubBlockFit, 8> fits;
  float max_scale = 0.0f, max_minimum = 0.0f;
  for (int s = 0; s < 8; ++s) {
    fits[s] = fit_affine(x.subspan(static_cast<std::size_t>(s) * 32, 32), levels);
    max_scale = std::max(max_scale, fits[s].scale);
    max_minimum = std::max(max_minimum, fits[s].minimum);
  }
  AffineSuperBlock block;
  block.d = as_half(max_scale / 63.0f);
  block.dmin = as_half(max_minimum / 63.0f);
  for (int s = 0; s < 8; ++s) {
    block.sub.scales[s] = static_cast<std::uint8_t>(round_to_step(fits[s].scale, block.d, 0, 63));
    block.sub.minima[s] = static_cast<std::uint8_t>(round_to_step(fits[s].minimum, block.dmin, 0, 63));
    const float scale = block.d * static_cast<float>(block.sub.scales[s]);
    const float minimum = block.dmin * static_cast<float>(block.sub.minima[s]);
    for (int i = s * 32; i < s * 32 + 32; ++i) {
      block.codes[i] = static_cast<std::uint8_t>(round_to_step(x[i] + minimum, scale, 0, levels - 1));
    }
  }
  return block;
}

void dequantize_affine(const AffineSuperBlock& block, std::span<float> out) noexcept {
  for (int s = 0; s < 8; ++s) {
    const float scale = block.d * static_cast<float>(block.sub.scales[s]);
    const float minimum = block.dmin * static_cast<float>(block.sub.minima[s]);
    for (int i = s * 32; i < s * 32 + 32; ++i) out[i] = scale * static_cast<float>(block.codes[i]) - minimum;
  }
}

namespace {

// 32 bytes hold the nibbles of sub-blocks 2j (low) and 2j + 1 (high).
void store_nibble_pairs(const AffineSuperBlock& block, std::byte* at) noexcept {
  for (int i = 0; i < kSuperBlock / 2; ++i) {
    const int low = i / 32 * 64 + i % 32;
    at[i] = static_cast<std::byte>((block.codes[low] & 15) | (block.codes[low + 32] & 15) << 4);
  }
}

void store_affine_scales(const AffineSuperBlock& block, std::byte* at) noexcept {
  store_half(at, block.d);
  store_half(at + 2, block.dmin);
  store_scales_and_minima(at + 4, block.sub);
}

}  // namespace

void store_q4_k(const AffineSuperBlock& block, std::byte* at) noexcept {
  store_affine_scales(block, at);
  store_nibble_pairs(block, at + 16);
}

void store_q5_k(const AffineSuperBlock& block, std::byte* at) noexcept {
  store_affine_scales(block, at);
  for (int i = 0; i < 32; ++i) {
    int fifths = 0;  // bit s is of sub-block s
    for (int s = 0; s < 8; ++s) fifths |= (block.codes[s * 32 + i] >> 4) << s;
    at[16 + i] = static_cast<std::byte>(fifths);
  }
  store_nibble_pairs(block, at + 48);
}

// Value i of a half (128 values): low nibble in byte i % 64 (its high half from i = 64), then bit pairs, scales, d.
void store_q6_k(const SignedSuperBlock& block, std::byte* at) noexcept {
  constexpr int kHighAt = 128, kScalesAt = 192, kScaleAt = 208;
  std::fill_n(at, kScalesAt, std::byte{0});
  for (int i = 0; i < kSuperBlock; ++i) {
    at[i / 128 * 64 + i % 64] |= static_cast<std::byte>((block.codes[i] & 15) << i / 64 % 2 * 4);
    at[kHighAt + two_bit_byte(i)] |= static_cast<std::byte>(block.codes[i] >> 4 << two_bit_shift(i));
  }
  std::memcpy(at + kScalesAt, block.scales.data(), block.scales.size());
  store_half(at + kScaleAt, block.d);
}

}  // namespace millrace::quant
