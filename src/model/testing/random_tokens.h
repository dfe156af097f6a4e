#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace millrace::model {

// For tests: tokens of a small vocabulary, but for the first three, which are special.
inline std::vector<std::int32_t> random_tokens(std::size_t n, unsigned seed, unsigned vocabulary = 47) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens(n);
  for (std::int32_t& t : tokens) t = static_cast<std::int32_t>(3 + random() % (vocabulary - 3));
  return tokens;
}

}  // namespace millrace::model
