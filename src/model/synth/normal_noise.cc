#include "model/synth/normal_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>

namespace millrace::model {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

// The output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

constexpr std::size_t kQuantiles = 65536;

// Quantile (i + 1/2) / 65536 of the standard normal distribution at i.
using QuantileTable = std::array<float, kQuantiles>;

std::unique_ptr<const QuantileTable> make_quantiles() {
  auto table = std::make_unique<QuantileTable>();
  double x = 0.0;
  for (std::size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double upper = (static_cast<double>(kQuantiles - i) - 0.5) / kQuantiles;  // probability above the quantile
    // Newton's method from the quantile before: the distribution is concave here, so it approaches from below.
    for (double step = 1.0; step > 1e-10;) {
      const double above = 0.5 * std::erfc(x / std::numbers::sqrt2);
      const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      step = (above - upper) / density;
      x += step;
    }
    (*table)[i] = static_cast<float>(x);
    (*table)[kQuantiles - 1 - i] = static_cast<float>(-x);
  }
  return table;
}

const QuantileTable& quantiles() {
  static const std::unique_ptr<const QuantileTable> table = make_quantiles();
  return *table;
}

}  // namespace

NormalStream::NormalStream(std::uint64_t seed, std::string_view name) noexcept : key_(mix(seed + kGolden)) {
  for (const char c : name) key_ = mix(key_ + static_cast<unsigned char>(c) + kGolden);
}

void NormalStream::fill(std::uint64_t first, float deviation, std::span<float> out) const noexcept {
  const QuantileTable& table = quantiles();
  std::uint64_t counter = key_ + first / 4 * kGolden;
  for (std::size_t i = 0; i < out.size(); i += 4, counter += kGolden) {
    const std::uint64_t bits = mix(counter);
    out[i] = deviation * table[bits & 0xFFFF];
    out[i + 1] = deviation * table[(bits >> 16) & 0xFFFF];
    out[i + 2] = deviation * table[(bits >> 32) & 0xFFFF];
    out[i + 3] = deviation * table[bits >> 48];
  }
}

void NormalStream::fill_bytes(std::uint64_t first, std::span<std::byte> out) const noexcept {
  for (std::uint64_t counter = key_ + first * kGolden; !out.empty(); counter += kGolden) {
    const std::uint64_t bits = mix(counter);
    const std::size_t n = std::min(out.size(), sizeof bits);
    std::memcpy(out.data(), &bits, n);
    out = out.subspan(n);
  }
}

}  // namespace millrace::model
