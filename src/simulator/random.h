#pragma once

#include <cstdint>
#include <vector>

#include "base/counter_rng.h"

namespace millrace::simulator {

// Random numbers by SplitMix64 (doi:10.1145/2714064.2660195). Unlike the distributions of std::, they are the same on
// every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(rng::mix(seed + 0x9e3779b97f4a7c15ull)) {}
  std::uint64_t next() noexcept { return rng::mix(state_ += 0x9e3779b97f4a7c15ull); }
  // An integer in [low, high]; low <= high.
  std::int64_t in(std::int64_t low, std::int64_t high) noexcept {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) noexcept { return in(1, 100) <= percent; }
  bool one_in(std::int64_t n) noexcept { return in(1, n) == 1; }                  // with probability 1/n; n >= 1
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  template <typename T, std::size_t N>
  const T& of(const T (&choices)[N]) noexcept {
    return choices[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(N) - 1))];
  }
  template <typename T>
  const T& of(const std::vector<T>& choices) noexcept {  // not empty
    return choices[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace millrace::simulator
