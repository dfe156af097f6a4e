#include "grammar/char_automaton.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "grammar/char_automaton_trimming.h"

namespace millrace::grammar {
namespace {

using State = CharAutomaton::State;
using Edge = CharAutomaton::Edge;
using StateId = std::int32_t;

constexpr StateId kNowhere = -1;

const State& at(const std::vector<State>& states, StateId id) { return states[static_cast<std::size_t>(id)]; }

// Walks two ascending lists of edges together, an end of the alphabet at a time: calls use(first, last, target in a,
// target in b), where a target is kNowhere where the character has no edge.
template <typename Use>
void walk_together(const std::vector<Edge>& a, const std::vector<Edge>& b, Use use) {
  std::size_t i = 0, j = 0;
  char32_t next = 0;
  while (i < a.size() || j < b.size()) {
    const auto here = [&](const std::vector<Edge>& edges, std::size_t k) {
      return k < edges.size() && edges[k].first <= next;
    };
    const bool in_a = here(a, i), in_b = here(b, j);
    char32_t last = kLastCodePoint;
    if (i < a.size()) last = std::min<char32_t>(last, in_a ? a[i].last : a[i].first - 1);
    if (j < b.size()) last = std::min<char32_t>(last, in_b ? b[j].last : b[j].first - 1);
    if (in_a || in_b) use(next, last, in_a ? a[i].target : kNowhere, in_b ? b[j].target : kNowhere);
    if (in_a && a[i].last == last) ++i;
    if (in_b && b[j].last == last) ++j;
    next = last + 1;
  }
}

// The automaton of all pairs of states; `wanted(in a, in b)` says of a text that ends in a and in b whether it fits,
// and of a pair with kNowhere whether what follows can fit (asked with true for the one that is somewhere).
template <typename Wanted>
Result<CharAutomaton> product(const CharAutomaton& a, const CharAutomaton& b, WorkMeter& meter, Wanted wanted) {
  std::map<std::pair<StateId, StateId>, StateId> ids = {{{0, 0}, 0}};
  std::vector<std::pair<StateId, StateId>> pairs = {{0, 0}};
  std::vector<State> made;
  const std::vector<Edge> none;
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    const auto [left, right] = pairs[n];
    State state;
    state.accepts =
        wanted(left != kNowhere && at(a.states(), left).accepts, right != kNowhere && at(b.states(), right).accepts);
    walk_together(left == kNowhere ? none : at(a.states(), left).edges,
                  right == kNowhere ? none : at(b.states(), right).edges,
                  [&](char32_t first, char32_t last, StateId to_left, StateId to_right) {
                    const bool dead_alone =
                        (to_left == kNowhere && !wanted(false, true)) || (to_right == kNowhere && !wanted(true, false));
                    if (dead_alone) return;
                    const auto next = static_cast<StateId>(pairs.size());
                    const auto [place, is_new] = ids.emplace(std::pair(to_left, to_right), next);
                    if (is_new) pairs.emplace_back(to_left, to_right);
                    state.edges.push_back({first, last, place->second});
                  });
    const auto cost = 1 + static_cast<std::int64_t>(state.edges.size()) / CharAutomaton::kEdgesOfAState;
    if (auto fine = meter.spend(cost); !fine) return fine.error();
    made.push_back(std::move(state));
  }
  return CharAutomaton(std::move(made));
}

struct Trie {
  struct Node {
    std::map<char32_t, StateId> children;
    bool is_word = false;
  };
  std::vector<Node> nodes = std::vector<Node>(1);

  explicit Trie(const std::vector<std::u32string>& words) {
    for (const std::u32string& word : words) {
      StateId id = 0;
      for (const char32_t letter : word) {
        const auto next = static_cast<StateId>(nodes.size());
        const auto [place, is_new] = nodes[static_cast<std::size_t>(id)].children.emplace(letter, next);
        id = place->second;
        if (is_new) nodes.emplace_back();
      }
      nodes[static_cast<std::size_t>(id)].is_word = true;
    }
  }
};

// Of each node of the trie where each letter leads when searching (Aho and Corasick 1975); letters that are not there
// lead to the root. `found`: one of the words ends there.
struct Search {
  struct Node {
    std::map<char32_t, StateId> next;
    bool found = false;
  };
  std::vector<Node> nodes;

  explicit Search(const Trie& trie) : nodes(trie.nodes.size()) {
    std::vector<StateId> order = {0}, fallback(nodes.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto id = static_cast<std::size_t>(order[i]), back = static_cast<std::size_t>(fallback[id]);
      nodes[id].found = trie.nodes[id].is_word || (id != 0 && nodes[back].found);
      if (id != 0) nodes[id].next = nodes[back].next;
      for (const auto& [letter, child] : trie.nodes[id].children) {
        const auto known = nodes[back].next.find(letter);
        if (id != 0 && known != nodes[back].next.end()) fallback[static_cast<std::size_t>(child)] = known->second;
        nodes[id].next[letter] = child;
        order.push_back(child);
      }
    }
  }

  // The edges of a node that lead to where `usable` says.
  template <typename Usable>
  std::vector<Edge> edges(const Node& node, Usable usable) const {
    std::vector<Edge> out;
    const auto put = [&](char32_t first, char32_t last, StateId target) {
      if (first <= last && usable(nodes[static_cast<std::size_t>(target)])) out.push_back({first, last, target});
    };
    char32_t next = 0;
    for (const auto& [letter, target] : node.next) {
      if (letter > next) put(next, letter - 1, 0);
      put(letter, letter, target);
      next = letter + 1;
    }
    put(next, kLastCodePoint, 0);
    return out;
  }
};

}  // namespace

CharAutomaton::CharAutomaton(std::vector<State> states) : states_(trimmed(std::move(states))) {}

CharAutomaton CharAutomaton::words(const std::vector<std::u32string>& words) {
  const Trie trie(words);
  std::vector<State> states(trie.nodes.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].accepts = trie.nodes[i].is_word;
    for (const auto& [letter, child] : trie.nodes[i].children) states[i].edges.push_back({letter, letter, child});
  }
  if (words.empty()) return {};
  return CharAutomaton(std::move(states));
}

CharAutomaton CharAutomaton::any() { return length(0, -1); }

CharAutomaton CharAutomaton::until(const std::vector<std::u32string>& words) {
  if (words.empty()) return any();
  const Search search((Trie(words)));
  std::vector<State> states(search.nodes.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].accepts = search.nodes[i].found;
    if (!states[i].accepts) {
      states[i].edges = search.edges(search.nodes[i], [](const Search::Node&) { return true; });
    }
  }
  return CharAutomaton(std::move(states));
}

CharAutomaton CharAutomaton::without(const std::vector<std::u32string>& words) {
  const Search search((Trie(words)));
  if (search.nodes[0].found) return {};
  std::vector<State> states(search.nodes.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].accepts = !search.nodes[i].found;
    states[i].edges = search.edges(search.nodes[i], [](const Search::Node& to) { return !to.found; });
  }
  return CharAutomaton(std::move(states));
}

std::int64_t CharAutomaton::search_cost(const std::vector<std::u32string>& words) {
  std::set<char32_t> letters;
  std::size_t characters = 1;
  for (const std::u32string& word : words) {
    letters.insert(word.begin(), word.end());
    characters += word.size();
  }
  return static_cast<std::int64_t>(characters * (2 * letters.size() + 1));
}

CharAutomaton CharAutomaton::length(std::int64_t least, std::int64_t most) {
  const std::int64_t last = most < 0 ? least : most;
  std::vector<State> states(static_cast<std::size_t>(last) + 1);
  for (std::int64_t i = 0; i <= last; ++i) {
    State& state = states[static_cast<std::size_t>(i)];
    state.accepts = i >= least;
    if (i < last) state.edges = {{0, kLastCodePoint, static_cast<StateId>(i) + 1}};
  }
  if (most < 0) states.back().edges = {{0, kLastCodePoint, static_cast<StateId>(last)}};
  return CharAutomaton(std::move(states));
}

bool CharAutomaton::matches(std::u32string_view text) const {
  StateId id = 0;
  for (const char32_t letter : text) {
    const auto& edges = at(states_, id).edges;
    const auto after = std::ranges::upper_bound(edges, letter, {}, &Edge::first);
    if (after == edges.begin() || std::prev(after)->last < letter) return false;
    id = std::prev(after)->target;
  }
  return at(states_, id).accepts;
}

bool CharAutomaton::empty() const { return states_.size() == 1 && !states_[0].accepts; }

Result<CharAutomaton> CharAutomaton::intersect(const CharAutomaton& other, WorkMeter& meter) const {
  return product(*this, other, meter, [](bool a, bool b) { return a && b; });
}

Result<CharAutomaton> CharAutomaton::minus(const CharAutomaton& other, WorkMeter& meter) const {
  return product(*this, other, meter, [](bool a, bool b) { return a && !b; });
}

Result<CharAutomaton> CharAutomaton::unite(const CharAutomaton& other, WorkMeter& meter) const {
  return product(*this, other, meter, [](bool a, bool b) { return a || b; });
}

}  // namespace millrace::grammar
