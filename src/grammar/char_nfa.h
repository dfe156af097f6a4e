#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grammar/char_automaton.h"

namespace millrace::grammar {

// A regular language over code points as a nondeterministic automaton, which is how expressions are put together.
class CharNfa {
 public:
  using StateId = std::int32_t;
  enum class When : std::uint8_t { kAlways, kAtTextStart, kAtTextEnd };  // a free edge may be taken

  StateId add_state();
  void add_edge(StateId from, char32_t first, char32_t last, StateId to);
  void add_free_edge(StateId from, StateId to, When when = When::kAlways);  // takes no character

  // What leads from `start` to `end`: subset construction. Spends a state for each that it makes, and more for many
  // edges.
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

}  // namespace millrace::grammar
