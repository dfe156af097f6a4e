#include "grammar/network_draft.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace millrace::grammar {
namespace {

// Which states reach a final state of their rule: reading what fits, or (`reading` false) without reading anything.
std::vector<bool> states_that_end(const NetworkDraft& draft, bool reading) {
  std::vector<std::vector<std::int32_t>> before(draft.states.size());  // from where an edge leads that is no call
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> calls(draft.states.size());  // from where, of whom
  std::vector<std::vector<std::int32_t>> starts(draft.states.size());  // of which rules it is the start
  std::vector<std::vector<std::int32_t>> waiting(draft.rules.size());  // that end if the rule does
  std::vector<bool> ends(draft.states.size(), false), rule_ends(draft.rules.size(), false);
  std::vector<std::int32_t> found;
  const auto mark = [&](std::int32_t state) {
    if (ends[static_cast<std::size_t>(state)]) return;
    ends[static_cast<std::size_t>(state)] = true;
    found.push_back(state);
  };
  for (std::size_t i = 0; i < draft.states.size(); ++i) {
    const NetworkDraft::State& state = draft.states[i];
    const auto from = static_cast<std::int32_t>(i);
    for (const std::int32_t target : state.empty) before[static_cast<std::size_t>(target)].push_back(from);
    for (const auto& edge : state.bytes) {
      if (reading) before[static_cast<std::size_t>(edge.target)].push_back(from);
    }
    for (const auto& edge : state.calls) calls[static_cast<std::size_t>(edge.target)].emplace_back(from, edge.rule);
    if (state.final) mark(from);
  }
  for (std::size_t r = 0; r < draft.rules.size(); ++r) {
    if (draft.rules[r].start < 0) continue;
    starts[static_cast<std::size_t>(draft.rules[r].start)].push_back(static_cast<std::int32_t>(r));
  }
  while (!found.empty()) {
    const auto state = static_cast<std::size_t>(found.back());
    found.pop_back();
    for (const std::int32_t from : before[state]) mark(from);
    for (const auto& [from, rule] : calls[state]) {
      if (rule_ends[static_cast<std::size_t>(rule)]) {
        mark(from);
      } else {
        waiting[static_cast<std::size_t>(rule)].push_back(from);
      }
    }
    for (const std::int32_t rule : starts[state]) {
      rule_ends[static_cast<std::size_t>(rule)] = true;
      for (const std::int32_t from : std::exchange(waiting[static_cast<std::size_t>(rule)], {})) mark(from);
    }
  }
  return ends;
}

// Each edge once, in the order in which they came: what grammars have in common looks the same in all of them.
template <typename Edge, typename Key>
void keep_first(std::vector<Edge>& edges, Key key) {
  if (edges.size() < 2) return;
  std::set<decltype(key(edges[0]))> seen;
  std::erase_if(edges, [&](const Edge& edge) { return !seen.insert(key(edge)).second; });
}

}  // namespace

Result<void> remove_empty_edges(NetworkDraft& draft, WorkMeter& meter) {
  std::vector<NetworkDraft::State> made(draft.states.size());
  std::vector<std::int32_t> seen(draft.states.size(), -1), found;
  for (std::size_t i = 0; i < draft.states.size(); ++i) {
    const auto from = static_cast<std::int32_t>(i);
    found = {from};
    seen[i] = from;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const NetworkDraft::State& state = draft.at(found[k]);
      made[i].final = made[i].final || state.final;
      made[i].bytes.insert(made[i].bytes.end(), state.bytes.begin(), state.bytes.end());
      made[i].calls.insert(made[i].calls.end(), state.calls.begin(), state.calls.end());
      for (const std::int32_t target : state.empty) {
        if (std::exchange(seen[static_cast<std::size_t>(target)], from) != from) found.push_back(target);
      }
    }
    keep_first(made[i].bytes, [](const auto& e) { return std::tuple(e.first, e.last, e.target); });
    keep_first(made[i].calls, [](const auto& e) { return std::pair(e.rule, e.target); });
    const std::size_t work = made[i].bytes.size() + made[i].calls.size() + found.size();
    if (auto fine = meter.spend(static_cast<std::int64_t>(work / 8)); !fine) return fine;
  }
  draft.states = std::move(made);
  return {};
}

void remove_dead_ends(NetworkDraft& draft) {
  const std::vector<bool> ends = states_that_end(draft, true);
  const auto rule_ends = [&](std::int32_t rule) {
    const std::int32_t start = draft.rule(rule).start;
    return start >= 0 && ends[static_cast<std::size_t>(start)];
  };
  for (NetworkDraft::State& state : draft.states) {
    std::erase_if(state.bytes, [&](const auto& edge) { return !ends[static_cast<std::size_t>(edge.target)]; });
    std::erase_if(state.calls, [&](const auto& edge) {
      return !ends[static_cast<std::size_t>(edge.target)] || !rule_ends(edge.rule);
    });
  }
  std::vector<bool> used(draft.rules.size(), false), seen(draft.states.size(), false);
  std::vector<std::int32_t> found;
  const auto visit = [&](std::int32_t state) {
    if (seen[static_cast<std::size_t>(state)]) return;
    seen[static_cast<std::size_t>(state)] = true;
    found.push_back(state);
  };
  const auto use = [&](std::int32_t rule) {
    if (used[static_cast<std::size_t>(rule)]) return;
    used[static_cast<std::size_t>(rule)] = true;
    visit(draft.rule(rule).start);
  };
  use(draft.root);
  while (!found.empty()) {
    const NetworkDraft::State& state = draft.at(found.back());
    found.pop_back();
    for (const auto& edge : state.bytes) visit(edge.target);
    for (const auto& edge : state.calls) {
      use(edge.rule);
      visit(edge.target);
    }
  }
  for (std::size_t r = 0; r < draft.rules.size(); ++r) {
    if (!used[r]) draft.rules[r].start = -1;
  }
}

Result<void> remove_empty_rules(NetworkDraft& draft, WorkMeter& meter) {
  const std::vector<bool> ends = states_that_end(draft, false);
  const auto is_empty = [&](std::int32_t rule) {
    const std::int32_t start = draft.rule(rule).start;
    return start >= 0 && ends[static_cast<std::size_t>(start)];
  };
  for (NetworkDraft::State& state : draft.states) {
    for (const auto& edge : state.calls) {
      if (is_empty(edge.rule)) state.empty.push_back(edge.target);
    }
  }
  if (auto fine = remove_empty_edges(draft, meter); !fine) return fine;
  for (std::size_t r = 0; r < draft.rules.size(); ++r) {
    const auto rule = static_cast<std::int32_t>(r);
    if (rule == draft.root || !is_empty(rule)) continue;
    NetworkDraft::State start = draft.at(draft.rules[r].start);  // which loops may come back to, and then it is final
    start.final = false;
    draft.rules[r].start = draft.add_state();
    draft.states.back() = std::move(start);
  }
  return {};
}

std::vector<std::vector<std::int32_t>> left_corners(const NetworkDraft& draft) {
  std::vector<std::vector<std::int32_t>> corners(draft.rules.size());
  for (std::size_t r = 0; r < draft.rules.size(); ++r) {
    if (draft.rules[r].start < 0) continue;
    for (const auto& edge : draft.at(draft.rules[r].start).calls) corners[r].push_back(edge.rule);
    std::ranges::sort(corners[r]);
    corners[r].erase(std::ranges::unique(corners[r]).begin(), corners[r].end());
  }
  return corners;
}

}  // namespace millrace::grammar
