#include "decode/border.h"

#include <array>

namespace millrace::decode {
namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

struct Count {
  double mass = 0.0;
  std::size_t keys = 0;
};

}  // namespace

Border find_border(std::span<const std::uint32_t> keys, std::span<const double> masses, double enough) {
  const auto mass = [&](std::size_t i) { return masses.empty() ? 1.0 : masses[i]; };
  std::uint64_t prefix = 0;  // the border's leading bits
  double above = 0.0;        // the mass of larger keys
  for (const int shift : {2 * kDigitBits, kDigitBits, 0}) {
    std::array<Count, kDigits> counts{};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t key = std::uint64_t{keys[i]} << 1;  // 33 bits: three digits
      if (key >> (shift + kDigitBits) != prefix) continue;
      Count& count = counts[(key >> shift) & (kDigits - 1)];
      count.mass += mass(i);
      ++count.keys;
    }
    std::size_t border_digit = 0;  // where the sum reaches `enough`, or the lowest that has keys
    double sum = above;
    for (std::size_t digit = kDigits; digit-- > 0 && sum < enough;) {
      if (counts[digit].keys == 0) continue;
      border_digit = digit;
      above = sum;
      sum += counts[digit].mass;
    }
    prefix = prefix << kDigitBits | border_digit;
  }
  const auto key = static_cast<std::uint32_t>(prefix >> 1);
  Border border{key, 0};
  for (std::size_t i = 0; i < keys.size() && above < enough; ++i) {
    if (keys[i] != key) continue;
    above += mass(i);
    ++border.of_equal;
  }
  return border;
}

void keep_likeliest(Candidates& candidates, std::span<const double> masses, double enough) {
  thread_local std::vector<std::uint32_t> keys;
  keys.resize(candidates.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = ordered_key(candidates[i].logit);
  keep_inside(find_border(keys, masses, enough), keys, candidates);
}

}  // namespace millrace::decode
