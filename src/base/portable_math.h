#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace millrace {

// exp and log with IEEE operations only. A libm chooses code by processor, and its last bits differ between versions,
// but a token must depend on neither (law 3 of the architecture). Relative error below 4e-16; no errno, no flags.

inline constexpr double kLog2e = 1.4426950408889634, kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr double kLn2 = 0.6931471805599453;
inline constexpr double kExpFloor = -708.0;  // below this exp is 0, before results become subnormal
// Adding it rounds to an integer, which is then in the lowest bits.
inline constexpr double kExpRounder = 0x1.8p52;
inline constexpr double kExpTerms[] = {
    1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
    1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};  // Taylor, highest first

// exp(x); +infinity above 709.
inline double portable_exp(double x) noexcept {
  if (!(x >= kExpFloor)) return x != x ? x : 0.0;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  const double rounded = x * kLog2e + kExpRounder;
  const double n = rounded - kExpRounder;
  const double r = (x - n * kLn2High) - n * kLn2Low;  // [-0.35, 0.35]
  double p = kExpTerms[0];
  for (std::size_t i = 1; i < std::size(kExpTerms); ++i) p = p * r + kExpTerms[i];
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(rounded) << 52));
}

// The natural logarithm of a normal positive number; -infinity for others.
inline double portable_log(double x) noexcept {
  if (!(x >= std::numeric_limits<double>::min())) return -std::numeric_limits<double>::infinity();
  if (x > std::numeric_limits<double>::max()) return x;
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e00000000ull;  // 0.7071: m in [0.7071, 1.4142)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t n = static_cast<std::int64_t>(bits - kRootHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(n) << 52));
  const double f = m - 1.0, s = f / (2.0 + f), z = s * s;  // log(m) = 2 atanh(s), |s| < 0.172
  double p = 1.0 / 21;
  for (int k = 19; k >= 3; k -= 2) p = p * z + 1.0 / k;
  // 2s = f - s f, so that the leading term is exact.
  const double tail = s * (f - 2.0 * (z * p)), e = static_cast<double>(n);
  return e * kLn2High - ((tail - e * kLn2Low) - f);
}

}  // namespace millrace
