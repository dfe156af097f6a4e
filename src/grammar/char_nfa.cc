#include "grammar/char_nfa.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace millrace::grammar {
namespace {

using StateId = CharNfa::StateId;
using Subset = std::vector<StateId>;  // ascending
using Edge = CharAutomaton::Edge;

constexpr std::int64_t kMuchWork = 4096;  // edges, of one state, that are not yet paid for

}  // namespace

StateId CharNfa::add_state() {
  states_.emplace_back();
  return static_cast<StateId>(states_.size()) - 1;
}

void CharNfa::add_edge(StateId from, char32_t first, char32_t last, StateId to) {
  states_[static_cast<std::size_t>(from)].edges.push_back({first, last, to});
}

void CharNfa::add_free_edge(StateId from, StateId to, When when) {
  states_[static_cast<std::size_t>(from)].free.push_back({to, when});
}

// A state of the automaton is the set of states that may be current, distinguished by those from which a character can
// be taken or the end reached.
class SubsetConstruction {
  struct SubsetHash {
    std::size_t operator()(const Subset& subset) const noexcept {
      return std::hash<std::string_view>()(
          {reinterpret_cast<const char*>(subset.data()), subset.size() * sizeof(StateId)});
    }
  };
  using SubsetIds = std::unordered_map<Subset, std::int32_t, SubsetHash>;

 public:
  SubsetConstruction(const CharNfa& nfa, StateId end, WorkMeter& meter)
      : nfa_(nfa), end_(end), meter_(meter), marks_(nfa.states_.size()) {
    const auto& last = nfa.states_[static_cast<std::size_t>(end)].edges;
    end_takes_all_ = last.size() == 1 && last[0] == Edge{0, kLastCodePoint, end};
  }

  Result<CharAutomaton> run(StateId start) {
    add({start}, true);
    for (std::size_t i = 0; i < subsets_.size(); ++i) {
      if (auto fine = expand(i); !fine) return fine.error();
    }
    return CharAutomaton(std::move(states_));
  }

 private:
  using When = CharNfa::When;
  struct Event {
    char32_t at;  // from here on
    StateId target;
    int step;  // +1: it begins, -1: it has ended
  };

  // All that free edges lead to, in the order of their finding.
  Subset closure(const Subset& from, bool at_start, bool at_end) {
    ++mark_;
    Subset out;
    const auto reach = [&](StateId id) {
      std::int64_t& mark = marks_[static_cast<std::size_t>(id)];
      if (mark == mark_) return;
      mark = mark_;
      out.push_back(id);
    };
    for (const StateId id : from) reach(id);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (const auto& edge : nfa_.states_[static_cast<std::size_t>(out[i])].free) {
        if (edge.when == When::kAtTextStart && !at_start) continue;
        if (edge.when == When::kAtTextEnd && !at_end) continue;
        reach(edge.target);
      }
    }
    return out;
  }

  std::int32_t add(const Subset& from, bool at_start = false) {
    Subset all = closure(from, at_start, false);
    work_ += static_cast<std::int64_t>(all.size());
    const auto matters = [&](StateId id) {
      const auto& state = nfa_.states_[static_cast<std::size_t>(id)];
      return id == end_ || !state.edges.empty() ||
             std::ranges::any_of(state.free, [](const auto& edge) { return edge.when == When::kAtTextEnd; });
    };
    std::erase_if(all, [&](StateId id) { return !matters(id); });
    if (end_takes_all_ && std::ranges::count(all, end_) > 0) all = {end_};  // whatever else could come fits already
    std::ranges::sort(all);
    // The first one alone stands at the start of the text; nothing leads back to it.
    const auto next = static_cast<std::int32_t>(subsets_.size());
    if (!at_start) {
      const auto [place, is_new] = ids_.emplace(all, next);
      if (!is_new) return place->second;
    }
    states_.emplace_back();
    states_.back().accepts = std::ranges::count(closure(all, at_start, true), end_) > 0;
    subsets_.push_back(std::move(all));
    return next;
  }

  Result<void> expand(std::size_t index) {
    events_.clear();
    for (const StateId id : subsets_[index]) {
      for (const Edge& edge : nfa_.states_[static_cast<std::size_t>(id)].edges) {
        events_.push_back({edge.first, edge.target, 1});
        events_.push_back({edge.last + 1, edge.target, -1});
      }
    }
    std::ranges::sort(events_, {}, &Event::at);
    work_ += static_cast<std::int64_t>(events_.size());
    std::unordered_map<StateId, int> counts;  // of open edges to it
    SubsetIds of_targets;
    for (std::size_t i = 0; i < events_.size();) {
      const char32_t first = events_[i].at;
      for (; i < events_.size() && events_[i].at == first; ++i) {
        int& open = counts[events_[i].target];
        open += events_[i].step;
        if (open == 0) counts.erase(events_[i].target);
      }
      if (counts.empty()) continue;
      Subset targets;
      for (const auto& [target, count] : counts) targets.push_back(target);
      std::ranges::sort(targets);
      work_ += static_cast<std::int64_t>(targets.size());
      const auto [place, is_new] = of_targets.emplace(targets, 0);
      if (is_new) place->second = add(targets);
      states_[index].edges.push_back({first, events_[i].at - 1, place->second});
      if (work_ > kMuchWork) {
        if (auto fine = pay(); !fine) return fine;
      }
    }
    return pay();
  }

  Result<void> pay() {
    const std::int64_t cost = 1 + work_ / CharAutomaton::kEdgesOfAState;
    work_ = 0;
    return meter_.spend(cost);
  }

  const CharNfa& nfa_;
  const StateId end_;
  bool end_takes_all_;
  WorkMeter& meter_;
  std::vector<std::int64_t> marks_;  // of each state the last closure that it was in
  std::int64_t mark_ = 0, work_ = 0;
  SubsetIds ids_;
  std::vector<Subset> subsets_;
  std::vector<CharAutomaton::State> states_;
  std::vector<Event> events_;
};

Result<CharAutomaton> CharNfa::determinised(StateId start, StateId end, WorkMeter& meter) const {
  return SubsetConstruction(*this, end, meter).run(start);
}

Result<CharAutomaton> concatenate(const CharAutomaton& a, const CharAutomaton& b, WorkMeter& meter) {
  CharNfa nfa;
  const auto copy = [&](const CharAutomaton& from) {
    std::vector<StateId> ids;
    for (std::size_t i = 0; i < from.states().size(); ++i) ids.push_back(nfa.add_state());
    for (std::size_t i = 0; i < from.states().size(); ++i) {
      for (const CharEdge& edge : from.states()[i].edges) {
        nfa.add_edge(ids[i], edge.first, edge.last, ids[static_cast<std::size_t>(edge.target)]);
      }
    }
    return ids;
  };
  const std::vector<StateId> first = copy(a), second = copy(b);
  const StateId end = nfa.add_state();
  const auto join = [&](const CharAutomaton& from, const std::vector<StateId>& ids, StateId to) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (from.states()[i].accepts) nfa.add_free_edge(ids[i], to);
    }
  };
  join(a, first, second[0]);
  join(b, second, end);
  return nfa.determinised(first[0], end, meter);
}

}  // namespace millrace::grammar
