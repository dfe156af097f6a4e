#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/cpu.h"

// For tests: the kernel sets to compare, and functions that compare results.

namespace millrace::backend::cpu {

// Unit roundoff of f32: the largest relative error of one rounding.
inline constexpr double kRounding = 0x1p-24;

// Every kernel set that this processor can run.
inline std::vector<const KernelSet*> supported_sets() {
  std::vector<const KernelSet*> sets;
  for (const KernelSet& set : all_kernel_sets()) {
    if (has_isa(set.isa)) sets.push_back(&set);
  }
  return sets;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

inline std::vector<float> normal_values(std::size_t n, unsigned seed, float deviation = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

}  // namespace millrace::backend::cpu
