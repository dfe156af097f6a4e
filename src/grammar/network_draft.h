#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "grammar/transition_network.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// A network under construction: states of all rules in one list, with empty edges.
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

// The steps from a draft to a network, in their order; each is linear in the edges unless it says otherwise.

// No rule but the root, which no rule calls, fits the empty text any more: its callers may pass it by instead.
Result<void> remove_empty_rules(NetworkDraft& draft, WorkMeter& meter);
// Every state gets what it reaches by empty edges; at worst the square of a rule's states.
Result<void> remove_empty_edges(NetworkDraft& draft, WorkMeter& meter);
// Leaves out what lies on no way through its rule, and calls of rules that no text fits; start -1: it is not called.
void remove_dead_ends(NetworkDraft& draft);
// Rules that call themselves before they have read a byte are rewritten to loops: left_recursion.cc.
Result<void> remove_left_recursion(NetworkDraft& draft, WorkMeter& meter);
// For each rule, the rules it may call before it has read a byte; ascending.
std::vector<std::vector<std::int32_t>> left_corners(const NetworkDraft& draft);

}  // namespace millrace::grammar
