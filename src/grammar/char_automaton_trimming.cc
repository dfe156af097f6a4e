#include "grammar/char_automaton_trimming.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace millrace::grammar {
namespace {

using State = CharState;
using Edge = CharEdge;
using StateId = std::int32_t;

constexpr StateId kNone = -1, kItself = -2;

State& at(std::vector<State>& states, StateId id) { return states[static_cast<std::size_t>(id)]; }

// Sorts, leaves out what holds nothing but surrogates, and joins neighbours, over the gap of the surrogates too.
void normalise(std::vector<Edge>& edges) {
  std::ranges::sort(edges, {}, &Edge::first);
  std::size_t kept = 0;
  for (Edge edge : edges) {
    if (edge.first >= kFirstSurrogate && edge.first <= kLastSurrogate) edge.first = kLastSurrogate + 1;
    if (edge.last >= kFirstSurrogate && edge.last <= kLastSurrogate) edge.last = kFirstSurrogate - 1;
    if (edge.first > edge.last) continue;
    Edge* before = kept == 0 ? nullptr : &edges[kept - 1];
    const bool touches =
        before != nullptr && before->target == edge.target &&
        (before->last + 1 == edge.first || (before->last + 1 == kFirstSurrogate && edge.first == kLastSurrogate + 1));
    if (touches) {
      before->last = edge.last;
    } else {
      edges[kept++] = edge;
    }
  }
  edges.resize(kept);
}

// Of each state whether an end can be reached from it.
std::vector<bool> reaching_an_end(const std::vector<State>& states) {
  std::vector<std::vector<StateId>> sources(states.size());
  std::vector<bool> live(states.size());
  std::vector<StateId> open;
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (const Edge& edge : states[i].edges) {
      auto& to = sources[static_cast<std::size_t>(edge.target)];
      if (to.empty() || to.back() != static_cast<StateId>(i)) to.push_back(static_cast<StateId>(i));
    }
    if (!states[i].accepts) continue;
    live[i] = true;
    open.push_back(static_cast<StateId>(i));
  }
  while (!open.empty()) {
    const StateId id = open.back();
    open.pop_back();
    for (const StateId source : sources[static_cast<std::size_t>(id)]) {
      if (live[static_cast<std::size_t>(source)]) continue;
      live[static_cast<std::size_t>(source)] = true;
      open.push_back(source);
    }
  }
  return live;
}

// The states that can be reached from the first, each after all that it leads to but by loops.
std::vector<StateId> post_order(const std::vector<State>& states) {
  std::vector<StateId> order;
  std::vector<bool> seen(states.size());
  std::vector<std::pair<StateId, std::size_t>> path = {{0, 0}};  // state, its next edge
  seen[0] = true;
  while (!path.empty()) {
    auto& [id, next] = path.back();
    const auto& edges = states[static_cast<std::size_t>(id)].edges;
    if (next == edges.size()) {
      order.push_back(id);
      path.pop_back();
      continue;
    }
    const StateId target = edges[next++].target;
    if (seen[static_cast<std::size_t>(target)]) continue;
    seen[static_cast<std::size_t>(target)] = true;
    path.emplace_back(target, 0);
  }
  return order;
}

struct StateHash {
  std::size_t operator()(const State& state) const noexcept {
    const std::string_view edges(reinterpret_cast<const char*>(state.edges.data()), state.edges.size() * sizeof(Edge));
    return std::hash<std::string_view>()(edges) * 2 + static_cast<std::size_t>(state.accepts);
  }
};
static_assert(sizeof(Edge) == 3 * sizeof(char32_t), "edges are hashed as bytes");

// Of each state the one that stands for it.
std::vector<StateId> representatives(std::vector<State>& states) {
  std::vector<StateId> stands(states.size(), kNone);
  std::unordered_map<State, StateId, StateHash> known;
  for (const StateId id : post_order(states)) {
    State& state = at(states, id);
    for (Edge& edge : state.edges) {
      const StateId known_target = stands[static_cast<std::size_t>(edge.target)];
      edge.target = edge.target == id ? kItself : known_target == kNone ? edge.target : known_target;
    }
    normalise(state.edges);
    const StateId one = known.emplace(state, id).first->second;
    stands[static_cast<std::size_t>(id)] = one;
    for (Edge& edge : state.edges) edge.target = edge.target == kItself ? one : edge.target;
  }
  return stands;
}

std::vector<State> renumbered(std::vector<State>& states, const std::vector<StateId>& stands) {
  std::vector<StateId> number(states.size(), kNone), order;
  const auto visit = [&](StateId id) {
    const StateId one = stands[static_cast<std::size_t>(id)];
    StateId& its = number[static_cast<std::size_t>(one)];
    if (its == kNone) {
      its = static_cast<StateId>(order.size());
      order.push_back(one);
    }
    return its;
  };
  std::vector<State> out;
  visit(0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.push_back(std::move(at(states, order[i])));
    for (Edge& edge : out.back().edges) edge.target = visit(edge.target);
    normalise(out.back().edges);
  }
  return out;
}

}  // namespace

std::vector<State> trimmed(std::vector<State> states) {
  if (states.empty()) return std::vector<State>(1);
  for (State& state : states) normalise(state.edges);
  const std::vector<bool> live = reaching_an_end(states);
  if (!live[0]) return std::vector<State>(1);
  for (State& state : states) {
    std::erase_if(state.edges, [&](const Edge& edge) { return !live[static_cast<std::size_t>(edge.target)]; });
  }
  const std::vector<StateId> stands = representatives(states);
  return renumbered(states, stands);
}

}  // namespace millrace::grammar
