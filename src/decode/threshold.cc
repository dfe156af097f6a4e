#include "decode/threshold.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

namespace millrace::decode {
namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kBlock = 256;

// Of candidates in blocks, where the n likeliest are wanted and n blocks hold one of at least this: those below it are
// none of them. -infinity where there are too few blocks.
float min_of_likeliest(std::span<const Candidate> candidates, std::size_t n) {
  if (n * kBlock >= candidates.size()) return -std::numeric_limits<float>::infinity();
  thread_local std::vector<float> largest;
  largest.clear();
  for (std::size_t begin = 0; begin < candidates.size(); begin += kBlock) {
    largest.push_back(largest_logit(candidates.subspan(begin, std::min(kBlock, candidates.size() - begin))));
  }
  const auto nth = largest.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::ranges::nth_element(largest, nth, std::greater<>());
  return *nth;
}

}  // namespace

Threshold find_threshold(std::span<const std::uint32_t> keys, std::span<const double> masses, double enough) {
  const auto mass = [&](std::size_t i) { return masses.empty() ? 1.0 : masses[i]; };
  std::uint64_t prefix = 0;  // the threshold's leading bits
  double above = 0.0;        // the mass of larger keys
  for (const int shift : {2 * kDigitBits, kDigitBits, 0}) {
    std::array<double, kDigits> sums{};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t key = std::uint64_t{keys[i]} << 1;  // 33 bits: three digits
      if (key >> (shift + kDigitBits) == prefix) sums[(key >> shift) & (kDigits - 1)] += mass(i);
    }
    std::size_t border_digit = 0;  // where the sum reaches `enough`, or the lowest that has mass
    double sum = above;
    for (std::size_t digit = kDigits; digit-- > 0 && sum < enough;) {
      if (sums[digit] <= 0.0) continue;
      border_digit = digit;
      above = sum;
      sum += sums[digit];
    }
    if (sum < enough && shift == 2 * kDigitBits) return {0, keys.size()};  // later it is short by rounding alone
    prefix = prefix << kDigitBits | border_digit;
  }
  const auto key = static_cast<std::uint32_t>(prefix >> 1);
  Threshold threshold{key, 0};
  for (std::size_t i = 0; i < keys.size() && above < enough; ++i) {
    if (keys[i] != key) continue;
    above += mass(i);
    ++threshold.of_equal;
  }
  return threshold;
}

void keep_likeliest(Candidates& candidates, std::span<const double> masses, double enough) {
  if (masses.empty()) {
    const float least = min_of_likeliest(candidates, static_cast<std::size_t>(enough));
    std::erase_if(candidates, [=](const Candidate& c) { return c.logit < least; });
  }
  thread_local std::vector<std::uint32_t> keys;
  keys.resize(candidates.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = ordered_key(candidates[i].logit);
  keep_above(find_threshold(keys, masses, enough), keys, candidates);
}

}  // namespace millrace::decode
