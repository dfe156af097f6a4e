#pragma once

// For tests: texts that tell by their tokens which part of which they are.

#include <cstdint>
#include <numeric>
#include <vector>

namespace millrace::kv {

using Tokens = std::vector<std::int32_t>;

inline Tokens count(std::int32_t from, std::int32_t n) {
  Tokens tokens(static_cast<std::size_t>(n));
  std::iota(tokens.begin(), tokens.end(), from);
  return tokens;
}

inline Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace millrace::kv
