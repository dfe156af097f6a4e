#pragma once

#include <cstdint>
#include <vector>

namespace millrace::grammar {

inline constexpr char32_t kLastCodePoint = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

// An edge of an automaton over code points: any of [first, last] leads to state `target`.
struct CharEdge {
  char32_t first, last;  // 0 .. kLastCodePoint
  std::int32_t target;
  bool operator==(const CharEdge&) const = default;
};

// A state of a deterministic automaton over code points.
struct CharState {
  bool accepts = false;
  std::vector<CharEdge> edges;  // do not overlap
  bool operator==(const CharState&) const = default;
};

}  // namespace millrace::grammar
