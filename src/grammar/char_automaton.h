#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// A regular language over code points as a deterministic automaton: state 0 is the start, a character without an edge
// leads nowhere. Every state but the start can be reached and can reach an end.
class CharAutomaton {
 public:
  struct Edge {
    char32_t first, last;
    std::int32_t target;
  };
  struct State {
    bool accepts = false;
    std::vector<Edge> edges;  // ascending, not touching each other where they have the same target
  };

  CharAutomaton() : states_(1) {}                                        // nothing fits
  explicit CharAutomaton(std::vector<State> states);                     // trims it
  static CharAutomaton words(const std::vector<std::u32string>& words);  // exactly these
  static CharAutomaton any();                                            // every string
  // Any text in which none of the words comes before its end, where one of them does; no words: any text.
  static CharAutomaton until(const std::vector<std::u32string>& words);
  static CharAutomaton without(const std::vector<std::u32string>& words);  // any text in which none of them comes
  static CharAutomaton length(std::int64_t least, std::int64_t most);      // every string of that many characters

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
