#pragma once

#include <vector>

#include "grammar/char_states.h"

namespace millrace::grammar {

// An automaton of the same language in which every state is reachable and can reach an accepting state, in
// breadth-first order. States that are equal, except for the loops that they are on, are merged as in a directed
// acyclic word graph; a loop from a state to itself does not matter. Linear in the edges, but for sorting them.
std::vector<CharState> trimmed(std::vector<CharState> states);

}  // namespace millrace::grammar
