#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "grammar/transition_network.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// A network under construction: the states of all rules in one list, with empty edges.
struct NetworkDraft {
  struct State {
    std::vector<std::int32_t> empty;  // targets
    std::vector<TransitionNetwork::ByteEdge> bytes;
    std::vector<TransitionNetwork::CallEdge> calls;
    bool final = false;
  };
  struct Rule {
    std::int32_t start = -1;
    bool unit = true;
  };
  std::vector<State> states;
  std::vector<Rule> rules;
  std::int32_t root = 0;

  std::int32_t add_state() {
    states.emplace_back();
    return static_cast<std::int32_t>(states.size()) - 1;
  }
  State& at(std::int32_t state) { return states[static_cast<std::size_t>(state)]; }
  const State& at(std::int32_t state) const { return states[static_cast<std::size_t>(state)]; }
  Rule& rule(std::int32_t id) { return rules[static_cast<std::size_t>(id)]; }
  const Rule& rule(std::int32_t id) const { return rules[static_cast<std::size_t>(id)]; }
};

// The steps from a draft to a network, in order. Each is linear in the edges unless it says otherwise.

// Changes rules so that none but the root, which no rule calls, fits the empty text; callers may skip them instead.
Result<void> remove_empty_rules(NetworkDraft& draft, WorkMeter& meter);
// Gives every state the edges that it reaches by empty edges. At worst the square of a rule's states.
Result<void> remove_empty_edges(NetworkDraft& draft, WorkMeter& meter);
// Removes states that are on no path through their rule, and calls of rules that no text fits. A start of -1: the rule
// is not called.
void remove_dead_ends(NetworkDraft& draft);
// Rewrites rules that call themselves before reading a byte to loops: left_recursion.cc.
Result<void> remove_left_recursion(NetworkDraft& draft, WorkMeter& meter);
// For each rule, the rules that it may call before reading a byte, ascending.
std::vector<std::vector<std::int32_t>> left_corners(const NetworkDraft& draft);

}  // namespace millrace::grammar
