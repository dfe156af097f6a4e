// Left recursion as loops. Of rules A that may begin with each other, A's texts are read from below: some B of them
// begins with none of them; what begins with B goes on behind B; and so on, until A is through. The left corner
// transformation (Rosenkrantz and Lewis, SWAT 1970) on automata.

#include <algorithm>
#include <map>
#include <utility>

#include "grammar/network_draft.h"

namespace millrace::grammar {
namespace {

using Corners = std::vector<std::vector<std::int32_t>>;

// Tarjan's components (SIAM J. Comput. 1(2), 1972) that hold a cycle, with an explicit stack.
class Cycles {
 public:
  explicit Cycles(const Corners& corners)
      : corners_(corners), index_(corners.size(), -1), low_(corners.size(), 0), open_(corners.size(), false) {}

  std::vector<std::vector<std::int32_t>> find() {
    for (std::size_t rule = 0; rule < corners_.size(); ++rule) {
      if (index_[rule] < 0) search(static_cast<std::int32_t>(rule));
    }
    return std::move(found_);
  }

 private:
  void enter(std::int32_t rule) {
    const auto r = static_cast<std::size_t>(rule);
    index_[r] = low_[r] = count_++;
    open_[r] = true;
    path_.push_back(rule);
    work_.emplace_back(rule, 0);
  }
  void search(std::int32_t root) {
    enter(root);
    while (!work_.empty()) {
      const auto [rule, next] = work_.back();
      const auto r = static_cast<std::size_t>(rule);
      if (next < corners_[r].size()) {
        ++work_.back().second;
        const auto other = static_cast<std::size_t>(corners_[r][next]);
        if (index_[other] < 0) {
          enter(corners_[r][next]);
        } else if (open_[other]) {
          low_[r] = std::min(low_[r], index_[other]);
        }
        continue;
      }
      work_.pop_back();
      if (!work_.empty()) {
        const auto caller = static_cast<std::size_t>(work_.back().first);
        low_[caller] = std::min(low_[caller], low_[r]);
      }
      if (low_[r] == index_[r]) close(rule);
    }
  }
  void close(std::int32_t rule) {
    std::vector<std::int32_t> component;
    std::int32_t last = -1;
    while (last != rule) {
      last = path_.back();
      path_.pop_back();
      open_[static_cast<std::size_t>(last)] = false;
      component.push_back(last);
    }
    const auto& own = corners_[static_cast<std::size_t>(rule)];
    if (component.size() > 1 || std::ranges::binary_search(own, rule)) found_.push_back(std::move(component));
  }

  const Corners& corners_;
  std::vector<std::int32_t> index_, low_;
  std::vector<bool> open_;
  std::int32_t count_ = 0;
  std::vector<std::int32_t> path_;
  std::vector<std::pair<std::int32_t, std::size_t>> work_;
  std::vector<std::vector<std::int32_t>> found_;
};

// Rewrites the rules of one cycle, each to an automaton of its own that holds copies of all of them.
class Unwinding {
 public:
  Unwinding(NetworkDraft& draft, const std::vector<std::int32_t>& cycle, WorkMeter& meter)
      : draft_(draft), cycle_(cycle), meter_(meter), in_cycle_(draft.rules.size(), false) {
    for (const std::int32_t rule : cycle) in_cycle_[static_cast<std::size_t>(rule)] = true;
  }

  Result<void> run() {
    std::vector<std::int32_t> starts;
    for (const std::int32_t rule : cycle_) {
      const auto start = unwind(rule);
      if (!start) return start.error();
      starts.push_back(*start);
    }
    for (std::size_t i = 0; i < cycle_.size(); ++i) draft_.rule(cycle_[i]).start = starts[i];
    return {};
  }

 private:
  static constexpr std::int32_t kNone = -1;

  Result<std::int32_t> unwind(std::int32_t rule) {
    const std::int32_t start = draft_.add_state();
    std::vector<std::int32_t> through(draft_.rules.size(), kNone);  // where a rule of the cycle has come to its end
    for (const std::int32_t other : cycle_) through[static_cast<std::size_t>(other)] = draft_.add_state();
    draft_.at(through[static_cast<std::size_t>(rule)]).final = true;
    for (const std::int32_t other : cycle_) {
      if (auto fine = copy(other, start, through); !fine) return fine.error();
    }
    return start;
  }

  // The rule as it goes on from `start` without calling one of the cycle, and from those it calls once they are
  // through.
  Result<void> copy(std::int32_t rule, std::int32_t start, const std::vector<std::int32_t>& through) {
    std::map<std::int32_t, std::int32_t> copies;
    std::vector<std::int32_t> found;
    const auto visit = [&](std::int32_t state) {
      const auto [known, is_new] = copies.try_emplace(state, kNone);
      if (is_new) {
        known->second = draft_.add_state();
        found.push_back(state);
      }
      return known->second;
    };
    const auto copy_edges = [&](std::int32_t state, std::int32_t to, bool first) {
      const NetworkDraft::State original = draft_.at(state);  // by value: states move as they are added
      for (const auto& edge : original.bytes) {
        const std::int32_t target = visit(edge.target);
        draft_.at(to).bytes.push_back({edge.first, edge.last, target});
      }
      for (const auto& edge : original.calls) {
        const std::int32_t target = visit(edge.target);
        if (first && in_cycle_[static_cast<std::size_t>(edge.rule)]) {
          draft_.at(through[static_cast<std::size_t>(edge.rule)]).empty.push_back(target);
        } else {
          draft_.at(to).calls.push_back({edge.rule, target});
        }
      }
      if (original.final) draft_.at(to).empty.push_back(through[static_cast<std::size_t>(rule)]);
    };
    copy_edges(draft_.rule(rule).start, start, true);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (auto fine = meter_.spend(); !fine) return fine;
      copy_edges(found[i], copies.at(found[i]), false);
    }
    return {};
  }

  NetworkDraft& draft_;
  const std::vector<std::int32_t>& cycle_;
  WorkMeter& meter_;
  std::vector<bool> in_cycle_;
};

}  // namespace

Result<void> remove_left_recursion(NetworkDraft& draft, WorkMeter& meter) {
  const auto cycles = Cycles(left_corners(draft)).find();
  if (cycles.empty()) return {};
  for (const auto& cycle : cycles) {
    if (auto fine = Unwinding(draft, cycle, meter).run(); !fine) return fine;
  }
  return remove_empty_edges(draft, meter);
}

}  // namespace millrace::grammar
