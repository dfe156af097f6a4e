#pragma once

#include <vector>

#include "grammar/char_automaton.h"

namespace millrace::grammar {

// The same language, of which every state can be reached and can reach an end, in breadth-first order. States that are
// alike up to the loops they are on are one (as in a directed acyclic word graph; a loop from a state to itself counts
// as none). Linear in the edges, but for their sorting.
std::vector<CharAutomaton::State> trimmed(std::vector<CharAutomaton::State> states);

}  // namespace millrace::grammar
