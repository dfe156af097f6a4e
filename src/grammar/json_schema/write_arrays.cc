// Arrays.

#include <algorithm>
#include <bit>
#include <optional>

#include "grammar/json_schema/grammar_writer.h"

namespace millrace::grammar::json_schema {

Result<ExpressionId> GrammarWriter::array(const ArrayFacts& facts) {
  if (facts == ArrayFacts{}) return text_.array();
  if (facts.most != kUnlimited && facts.most < facts.least) return grammar_.choice({});
  const bool one_at_most = facts.most == 0 || facts.most == 1;
  if (facts.unique != nullptr && !one_at_most) return unique_array(facts);
  return facts.contains.empty() ? plain_array(facts) : counted_array(facts);
}

Result<ExpressionId> GrammarWriter::plain_array(const ArrayFacts& facts) {
  const std::size_t most = facts.most == kUnlimited ? facts.prefix.size() : static_cast<std::size_t>(facts.most);
  std::vector<ExpressionId> items;  // with the comma before all but the first
  bool whole = true;                // the prefix can be as long as it is
  for (std::size_t i = 0; i < std::min(most, facts.prefix.size()) && whole; ++i) {
    const auto some = reader_.possible(facts.prefix[i]);
    if (!some) return some.error();
    whole = *some;
    if (!whole) break;
    const auto item = value(facts.prefix[i]);
    if (!item) return item;
    items.push_back(i == 0 ? *item : grammar_.sequence({text_.comma(), *item}));
  }
  const auto more = reader_.possible(facts.rest);
  if (!more) return more.error();
  const auto least = static_cast<std::size_t>(facts.least);
  ExpressionId rest = grammar_.bytes("");
  const bool goes_on = whole && *more && (facts.most == kUnlimited || most > items.size());
  if (goes_on) {
    const auto item = value(facts.rest);
    if (!item) return item;
    const auto taken = static_cast<std::int64_t>(items.size());
    const std::int64_t from = std::max<std::int64_t>(facts.least - taken, 0);
    const std::int64_t to = facts.most == kUnlimited ? kUnlimited : facts.most - taken;
    if (items.empty()) {
      return text_.enclosed("[", text_.list(*item, std::max<std::int64_t>(from, 1), to), "]", from == 0);
    }
    rest = grammar_.repeat(grammar_.sequence({text_.comma(), *item}), from, to);
  } else if (least > items.size()) {
    return grammar_.choice({});
  }
  if (items.empty()) return text_.empty("[", "]");
  const std::span<const ExpressionId> all(items);
  const std::size_t fixed = std::min(std::max<std::size_t>(least, 1), all.size());
  std::vector<ExpressionId> parts(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(fixed));
  parts.push_back(as_far_as(all.subspan(fixed), rest));
  return text_.enclosed("[", grammar_.sequence(std::move(parts)), "]", least == 0);
}

// Halved, so that the expression is never deep: n items are written n log n times in all.
ExpressionId GrammarWriter::as_far_as(std::span<const ExpressionId> items, ExpressionId rest) {
  if (items.empty()) return rest;
  if (items.size() == 1) return grammar_.optional(grammar_.sequence({items[0], rest}));
  const auto left = items.subspan(0, items.size() / 2), right = items.subspan(items.size() / 2);
  std::vector<ExpressionId> whole(left.begin(), left.end());
  whole.push_back(as_far_as(right, rest));
  return grammar_.choice({as_far_as(left, grammar_.bytes("")), grammar_.sequence(std::move(whole))});
}

namespace {

// "contains": a rule for each count of items and of those that fit; an item that is not counted, though it may not be
// more, must not fit.
class ArrayCounter {
 public:
  using State = std::pair<std::size_t, std::vector<std::int64_t>>;

  explicit ArrayCounter(const ArrayFacts& facts) : facts_(facts) {
    const std::int64_t bound = std::max(facts.least, facts.most);
    last_ = std::max(facts.prefix.size(), static_cast<std::size_t>(std::max<std::int64_t>(bound, 1)));
    for (const auto& contains : facts.contains) last_ = std::max(last_, contains.from);
  }

  State start() const { return {0, std::vector<std::int64_t>(facts_.contains.size())}; }

  bool may_end(const State& state) const {
    if (static_cast<std::int64_t>(state.first) < facts_.least) return false;
    for (std::size_t i = 0; i < state.second.size(); ++i) {
      if (state.second[i] < facts_.contains[i].least) return false;
    }
    return true;
  }

  // The next item, where those `contains` count whose bit is set. Where there is none: nothing.
  std::optional<std::pair<Goal, State>> item(const State& state, std::uint32_t counting) const {
    if (facts_.most != kUnlimited && static_cast<std::int64_t>(state.first) >= facts_.most) return std::nullopt;
    State next = state;
    Goal goal = facts_.item(state.first);
    next.first = std::min(state.first + 1, last_);
    for (std::size_t i = 0; i < facts_.contains.size(); ++i) {
      const auto& contains = facts_.contains[i];
      const bool counts = (counting >> i & 1U) != 0;
      if (state.first < contains.from && counts) return std::nullopt;
      if (counts) {
        if (contains.most != kUnlimited && state.second[i] >= contains.most) return std::nullopt;
        const std::int64_t enough = contains.most == kUnlimited ? contains.least : contains.most;
        if (state.second[i] >= enough) return std::nullopt;
        ++next.second[i];
        add_to(goal, contains.goal);
      } else if (contains.most != kUnlimited && state.first >= contains.from) {
        for (const Condition& one : contains.goal) add_to(goal, {{one.schema, !one.holds}});
      }
    }
    return std::pair(std::move(goal), std::move(next));
  }

 private:
  const ArrayFacts& facts_;
  std::size_t last_;  // from there on all places are alike
};

}  // namespace

Result<ExpressionId> GrammarWriter::counted_array(const ArrayFacts& facts) {
  constexpr std::size_t kMaxContains = 4;  // each doubles the ways in which an item may count
  if (facts.contains.size() > kMaxContains) {
    const auto done = reader_.left_out(*facts.contains.back().goal.front().schema, "", "more than 4 of one array");
    if (!done) return done.error();
    ArrayFacts fewer = facts;
    fewer.contains.pop_back();
    return counted_array(fewer);
  }
  const ArrayCounter counter(facts);
  std::map<ArrayCounter::State, RuleId> rules;
  std::vector<ArrayCounter::State> open;
  const auto rule_of = [&](const ArrayCounter::State& state) {
    const auto [at, is_new] = rules.emplace(state, 0);
    if (is_new) {
      at->second = grammar_.declare("json_array_items");
      open.push_back(state);
    }
    return at->second;
  };
  const ExpressionId root = grammar_.rule(rule_of(counter.start()));
  while (!open.empty()) {
    const ArrayCounter::State state = open.back();
    open.pop_back();
    std::vector<ExpressionId> parts;
    if (counter.may_end(state)) parts.push_back(text_.space());
    for (std::uint32_t counting = 0; counting < 1U << facts.contains.size(); ++counting) {
      if (auto fine = meter_.spend(); !fine) return fine.error();
      const auto next = counter.item(state, counting);
      if (!next) continue;
      const auto some = reader_.possible(next->first);
      if (!some) return some.error();
      if (!*some) continue;
      const auto item = value(next->first);
      if (!item) return item;
      const ExpressionId before = state.first == 0 ? text_.space() : text_.comma();
      parts.push_back(grammar_.sequence({before, *item, grammar_.rule(rule_of(next->second))}));
    }
    grammar_.define(rules.at(state), grammar_.choice(std::move(parts)));
  }
  return grammar_.sequence({grammar_.bytes("["), root, grammar_.bytes("]")});
}

// "uniqueItems" of a few known values: a rule for each set of those that are used up.
Result<ExpressionId> GrammarWriter::unique_array(const ArrayFacts& facts) {
  constexpr std::size_t kMaxValues = 8;
  const auto few = facts.prefix.empty() && facts.contains.empty()
                       ? reader_.finite(facts.rest)
                       : Result<std::optional<std::vector<const Json*>>>(std::nullopt);
  if (!few) return few.error();
  if (!few->has_value() || (*few)->size() > kMaxValues) {
    const auto done = reader_.left_out(*facts.unique, "uniqueItems",
                                       "but of up to 8 values that \"items\" lists with \"enum\" or \"const\"");
    if (!done) return done.error();
    ArrayFacts without = facts;
    without.unique = nullptr;
    return array(without);
  }
  const std::vector<const Json*>& values = **few;
  const std::uint32_t sets = 1U << values.size();
  std::vector<RuleId> rules;
  for (std::uint32_t used = 0; used < sets; ++used) rules.push_back(grammar_.declare("json_array_items"));
  for (std::uint32_t used = 0; used < sets; ++used) {
    const std::int64_t count = std::popcount(used);
    std::vector<ExpressionId> parts;
    if (count >= facts.least && (facts.most == kUnlimited || count <= facts.most)) parts.push_back(text_.space());
    for (std::size_t i = 0; i < values.size() && (facts.most == kUnlimited || count < facts.most); ++i) {
      if (auto fine = meter_.spend(); !fine) return fine.error();
      if ((used >> i & 1U) != 0) continue;
      const ExpressionId before = used == 0 ? text_.space() : text_.comma();
      parts.push_back(grammar_.sequence({before, text_.exactly(*values[i]), grammar_.rule(rules[used | 1U << i])}));
    }
    grammar_.define(rules[used], grammar_.choice(std::move(parts)));
  }
  return grammar_.sequence({grammar_.bytes("["), grammar_.rule(rules[0]), grammar_.bytes("]")});
}

}  // namespace millrace::grammar::json_schema
