#pragma once

#include <array>
#include <cstddef>

namespace millrace::draft {

// Acceptance rates of draft tokens by the confidence with which they were drafted. Old observations fade. One thread.
class Acceptance {
 public:
  // `memory` is the number of observations, of one level of confidence, over which the rate is averaged.
  explicit Acceptance(double memory) : memory_(memory) {}

  void observe(float confidence, bool right) noexcept;
  // The acceptance rate of draft tokens of this confidence in [0, 1]. `expected` is the rate assumed before any
  // observation; it counts as `weight` observations.
  double rate(float confidence, double expected, double weight) const noexcept;

  static constexpr std::size_t kBins = 20;  // of equal width
  struct Bin {
    double tried = 0.0, right = 0.0;
  };
  // What was observed: one made with the same memory goes on with it.
  std::array<Bin, kBins>& bins() noexcept { return bins_; }

 private:
  static std::size_t bin_of(float confidence) noexcept;

  double memory_;  // tokens a bin remembers
  std::array<Bin, kBins> bins_{};
};

}  // namespace millrace::draft
