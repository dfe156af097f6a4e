#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

inline constexpr char32_t kLastCodePoint = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

// A regular language over code points as a deterministic automaton: state 0 is the start, a character without an edge
// leads nowhere. Every state but the start can be reached and can reach an end; states after which the same may follow
// are one where no loop tells them apart. Surrogates are no characters: edges may span them, and they never fit.
class CharAutomaton {
 public:
  static constexpr std::int64_t kEdgesOfAState = 16;  // this many edges cost as much as a state
  struct Edge {
    char32_t first, last;  // 0 .. kLastCodePoint
    std::int32_t target;
    bool operator==(const Edge&) const = default;
  };
  struct State {
    bool accepts = false;
    std::vector<Edge> edges;  // ascending, not touching each other where they have the same target
    bool operator==(const State&) const = default;
  };

  CharAutomaton() : states_(1) {}  // nothing fits
  // Trims it: the edges of a state may come in any order, but must not overlap.
  explicit CharAutomaton(std::vector<State> states);
  static CharAutomaton words(const std::vector<std::u32string>& words);  // exactly these
  static CharAutomaton any();                                            // every string
  // Any text in which none of the words comes before its end, where one of them does; no words: any text.
  static CharAutomaton until(const std::vector<std::u32string>& words);
  static CharAutomaton without(const std::vector<std::u32string>& words);  // any text in which none of them comes
  // The most edges that until() and without() of these take: Aho-Corasick has the characters of all words times how
  // many different ones there are. No other limit holds.
  static std::int64_t search_cost(const std::vector<std::u32string>& words);
  // Every string of that many characters, 0 <= least <= most, or most -1: any number from least. A state for each.
  static CharAutomaton length(std::int64_t least, std::int64_t most);

  const std::vector<State>& states() const noexcept { return states_; }
  bool matches(std::u32string_view text) const;
  bool empty() const;  // no string fits

  // Work and states are limited: kResourceExhausted (see work_limits.h).
  Result<CharAutomaton> intersect(const CharAutomaton& other, WorkMeter& meter) const;
  Result<CharAutomaton> minus(const CharAutomaton& other, WorkMeter& meter) const;
  Result<CharAutomaton> unite(const CharAutomaton& other, WorkMeter& meter) const;
  Result<CharAutomaton> followed_by(const CharAutomaton& other, WorkMeter& meter) const;

 private:
  std::vector<State> states_;
};

}  // namespace millrace::grammar
