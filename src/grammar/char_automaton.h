#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/char_states.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// A regular language over code points as a deterministic automaton. State 0 is the start; a character without an edge
// does not fit. Every state but the start is reachable and can reach an accepting state. States with the same
// continuations are merged, unless only a loop distinguishes them. Surrogates never fit, though edges may span them.
// Immutable.
class CharAutomaton {
 public:
  static constexpr std::int64_t kEdgesOfAState = 16;  // edges that count as one state in limits of work
  using Edge = CharEdge;
  using State = CharState;  // its edges ascend; those with the same target do not touch

  CharAutomaton() : states_(1) {}  // the empty language
  // Trims the automaton. The edges of a state may be in any order, but must not overlap.
  explicit CharAutomaton(std::vector<State> states);
  static CharAutomaton words(const std::vector<std::u32string>& words);  // the language of exactly these words
  static CharAutomaton any();                                            // the language of all strings
  // All texts that end with one of the words and contain none before that end; without words: all texts.
  static CharAutomaton until(const std::vector<std::u32string>& words);
  // All texts that contain none of the words.
  static CharAutomaton without(const std::vector<std::u32string>& words);
  // Upper bound of the edges of until() and without() for these words: Aho-Corasick needs the number of characters of
  // all words times the number of distinct ones.
  static std::int64_t search_cost(const std::vector<std::u32string>& words);
  // All strings of `least` to `most` characters, 0 <= least <= most; most -1: no upper limit. It has a state for each
  // length.
  static CharAutomaton length(std::int64_t least, std::int64_t most);

  const std::vector<State>& states() const noexcept { return states_; }
  bool matches(std::u32string_view text) const;
  bool empty() const;  // whether no string fits

  // Set operations; concatenate() of char_nfa.h joins two. Work and states are limited: kResourceExhausted (see
  // work_limits.h).
  Result<CharAutomaton> intersect(const CharAutomaton& other, WorkMeter& meter) const;
  Result<CharAutomaton> minus(const CharAutomaton& other, WorkMeter& meter) const;
  Result<CharAutomaton> unite(const CharAutomaton& other, WorkMeter& meter) const;

 private:
  std::vector<State> states_;
};

}  // namespace millrace::grammar
