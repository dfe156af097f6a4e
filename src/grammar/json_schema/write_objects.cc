// Objects: the properties that the schema names in its order, then others.

#include <algorithm>
#include <compare>
#include <optional>

#include "grammar/json_schema/grammar_writer.h"

namespace millrace::grammar::json_schema {

Result<ExpressionId> GrammarWriter::member(const std::string& name, const Goal& goal) {
  const auto inside = value(goal);
  if (!inside) return inside;
  if (auto fine = meter_.spend(static_cast<std::int64_t>(name.size())); !fine) return fine.error();
  return grammar_.sequence({text_.name(name), text_.colon(), *inside});
}

Result<ExpressionId> GrammarWriter::member(const CharAutomaton& names, const Goal& goal) {
  const auto inside = value(goal);
  if (!inside) return inside;
  return grammar_.sequence({quoted(names), text_.colon(), *inside});
}

Result<ExpressionId> GrammarWriter::object(const ObjectFacts& facts) {
  if (facts == ObjectFacts{}) return text_.object();
  auto plan = reader_.plan(facts);
  if (!plan) return plan.error();
  const bool none_between = facts.most != kUnlimited && facts.most < facts.least;
  if (!plan->possible || none_between) return grammar_.choice({});
  const auto declared = static_cast<std::int64_t>(plan->declared.size());
  const auto required =
      std::count_if(plan->declared.begin(), plan->declared.end(), [](const auto& p) { return p.required; });
  if (facts.most != kUnlimited && facts.most < required) return grammar_.choice({});
  const bool open = !plan->others.empty();
  const bool enough = facts.least <= required;
  const bool few_enough = facts.most == kUnlimited || (!open && facts.most >= declared);
  const bool in_one_list = required == declared;  // then only the others have to be counted
  if (!facts.somewhere.empty() || (!(enough && few_enough) && !in_one_list)) return counted_object(facts, *plan);

  std::vector<Member> members;
  for (const auto& property : plan->declared) {
    const auto one = member(property.name, property.goal);
    if (!one) return one;
    members.push_back({*one, property.required});
  }
  std::vector<ExpressionId> kinds;
  for (const auto& names : plan->others) {
    const auto one = member(names.names, names.goal);
    if (!one) return one;
    kinds.push_back(*one);
  }
  const std::int64_t least = std::max<std::int64_t>(facts.least - declared, 0);
  const std::int64_t most = facts.most == kUnlimited ? kUnlimited : facts.most - required;
  if (kinds.empty() && in_one_list && least > 0) return grammar_.choice({});
  if (kinds.empty() || most == 0) {
    if (members.empty()) return text_.empty("{", "}");
    return text_.enclosed("{", first_of(members), "}", required == 0);
  }
  const ExpressionId other = kinds.size() == 1 ? kinds[0] : grammar_.choice(std::move(kinds));
  const ExpressionId others = text_.list(other, std::max<std::int64_t>(least, 1), most);
  if (members.empty()) return text_.enclosed("{", others, "}", least == 0);
  const ExpressionId more = grammar_.repeat(grammar_.sequence({text_.comma(), other}), least, most);
  std::vector<ExpressionId> shapes = {grammar_.sequence({first_of(members), more})};
  if (required == 0) shapes.push_back(others);
  return text_.enclosed("{", grammar_.choice(std::move(shapes)), "}", required == 0);
}

// At least one of them, in their order. Halved, so that n optional ones are written n log n times in all.
ExpressionId GrammarWriter::first_of(std::span<const Member> members) {
  if (members.size() == 1) return members[0].expression;
  const auto left = members.subspan(0, members.size() / 2), right = members.subspan(members.size() / 2);
  const ExpressionId from_left = grammar_.sequence({first_of(left), rest_of(right)});
  if (std::any_of(left.begin(), left.end(), [](const Member& one) { return one.required; })) return from_left;
  return grammar_.choice({from_left, first_of(right)});
}

ExpressionId GrammarWriter::rest_of(std::span<const Member> members) {
  std::vector<ExpressionId> parts;
  for (const Member& one : members) {
    const ExpressionId next = grammar_.sequence({text_.comma(), one.expression});
    parts.push_back(one.required ? next : grammar_.optional(next));
  }
  return grammar_.sequence(std::move(parts));
}

namespace {

// Where an object stands: the property that may come next, how many there are, and which of "somewhere" have come.
struct ObjectPlace {
  std::size_t next = 0;
  std::int64_t count = 0;  // as far as it matters
  std::uint32_t met = 0;
  auto operator<=>(const ObjectPlace&) const = default;
};

// What the value of a property must fit to be that one of "somewhere" whose bits are set; nothing where it cannot be,
// or one of them has come before.
template <typename Property>
std::optional<Goal> goal_of(const ObjectFacts& facts, const Property& property, const ObjectPlace& place,
                            std::uint32_t meets) {
  if ((meets & place.met) != 0) return std::nullopt;
  Goal goal = property.goal;
  for (std::size_t i = 0; i < facts.somewhere.size(); ++i) {
    if ((meets >> i & 1U) == 0) continue;
    if (!property.marks[i]) return std::nullopt;
    add_to(goal, facts.somewhere[i].goal);
  }
  return goal;
}

}  // namespace

// A rule for each place.
Result<ExpressionId> GrammarWriter::counted_object(const ObjectFacts& facts, const ObjectPlan& plan) {
  constexpr std::size_t kMaxMarks = 4;
  if (facts.somewhere.size() > kMaxMarks) {
    const auto done = reader_.left_out(*facts.somewhere.back().goal.front().schema, "",
                                       "that more than 4 such schemas do not hold of an object");
    if (!done) return done.error();
    ObjectFacts fewer = facts;
    fewer.somewhere.pop_back();
    return object(fewer);
  }
  std::map<ObjectPlace, RuleId> rules;
  std::vector<ObjectPlace> open;
  const std::int64_t enough = facts.most == kUnlimited ? std::max<std::int64_t>(facts.least, 1) : facts.most;
  const auto rule_of = [&](const ObjectPlace& place) {
    const auto [at, is_new] = rules.emplace(place, 0);
    if (is_new) {
      at->second = grammar_.declare("json_object_members");
      open.push_back(place);
    }
    return grammar_.rule(at->second);
  };
  // The property comes: with each choice of what it is the one of.
  const auto take = [&](const ObjectPlace& place, std::size_t next, const auto& property, const auto& name,
                        std::vector<ExpressionId>& parts) -> Result<void> {
    if (facts.most != kUnlimited && place.count >= facts.most) return {};
    for (std::uint32_t meets = 0; meets < 1U << facts.somewhere.size(); ++meets) {
      if (auto fine = meter_.spend(); !fine) return fine;
      const std::optional<Goal> goal = goal_of(facts, property, place, meets);
      const auto some = goal ? reader_.possible(*goal) : Result<bool>(false);
      if (!some) return some.error();
      if (!*some) continue;
      const auto one = member(name, *goal);
      if (!one) return one.error();
      const ExpressionId before = place.count == 0 ? text_.space() : text_.comma();
      const ObjectPlace after{next, std::min(place.count + 1, enough), place.met | meets};
      parts.push_back(grammar_.sequence({before, *one, rule_of(after)}));
    }
    return {};
  };
  const std::uint32_t all_met = (1U << facts.somewhere.size()) - 1;
  const ExpressionId root = rule_of({});
  while (!open.empty()) {
    const ObjectPlace place = open.back();
    open.pop_back();
    std::vector<ExpressionId> parts;
    if (place.next < plan.declared.size()) {
      const auto& property = plan.declared[place.next];
      if (!property.required) parts.push_back(rule_of({place.next + 1, place.count, place.met}));
      if (auto done = take(place, place.next + 1, property, property.name, parts); !done) return done.error();
    } else {
      for (const auto& other : plan.others) {
        if (auto done = take(place, place.next, other, other.names, parts); !done) return done.error();
      }
      if (place.count >= facts.least && place.met == all_met) parts.push_back(text_.space());
    }
    grammar_.define(rules.at(place), grammar_.choice(std::move(parts)));
  }
  return grammar_.sequence({grammar_.bytes("{"), root, grammar_.bytes("}")});
}

}  // namespace millrace::grammar::json_schema
