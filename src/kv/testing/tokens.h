#pragma once

// For tests: sequences of successive numbers as tokens, so that each part can be recognized.

#include <cstdint>
#include <numeric>
#include <vector>

namespace millrace::kv {

using Tokens = std::vector<std::int32_t>;

// from, from + 1, ...: n tokens.
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
