#pragma once

#include <array>
#include <cstddef>

namespace millrace::draft {

// How often drafted tokens proved right, by the confidence they were drafted with. Old ones fade.
class Acceptance {
 public:
  explicit Acceptance(double memory) : memory_(memory) {}

  void observe(float confidence, bool right) noexcept;
  // The acceptance rate of tokens of this confidence, where `expected` would be without any observed; that counts as
  // `weight` tokens.
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
