#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace millrace::decode {

// For tests: n normally distributed logits with mean 3 and standard deviation `spread`.
inline std::vector<float> random_row(std::size_t n, unsigned seed, float spread = 2.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(3.0f, spread);
  std::vector<float> row(n);
  for (float& x : row) x = normal(random);
  return row;
}

}  // namespace millrace::decode
