#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grammar/char_automaton.h"

namespace millrace::grammar {

// A regular language over code points as a nondeterministic automaton, in which expressions are assembled.
class CharNfa {
 public:
  using StateId = std::int32_t;
  // Where in the text a free edge may be taken.
  enum class When : std::uint8_t { kAlways, kAtTextStart, kAtTextEnd };

  StateId add_state();
  void add_edge(StateId from, char32_t first, char32_t last, StateId to);
  void add_free_edge(StateId from, StateId to, When when = When::kAlways);  // an edge that reads no character

  // The language from `start` to `end` as a CharAutomaton, by subset construction. Spends one state of the meter for
  // each state that it makes, and more for many edges.
  Result<CharAutomaton> determinised(StateId start, StateId end, WorkMeter& meter) const;

 private:
  friend class SubsetConstruction;
  struct FreeEdge {
    StateId target;
    When when;
  };
  struct State {
    std::vector<CharAutomaton::Edge> edges;
    std::vector<FreeEdge> free;
  };
  std::vector<State> states_;
};

// The texts of `a`, each followed by one of `b`. Work and states are limited: kResourceExhausted (see work_limits.h).
Result<CharAutomaton> concatenate(const CharAutomaton& a, const CharAutomaton& b, WorkMeter& meter);

}  // namespace millrace::grammar
