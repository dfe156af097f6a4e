// Whether anything fits, and whether a given value does.

#include <algorithm>
#include <utility>

#include "grammar/json_schema/json_values.h"
#include "grammar/json_schema/number_automaton.h"
#include "grammar/json_schema/object_plan.h"
#include "grammar/json_schema/schema_reader.h"
#include "unicode/code_points.h"

namespace millrace::grammar::json_schema {
namespace {

constexpr std::size_t kMaxNested = 64;  // goals in goals, beyond which it is not asked further

std::int64_t length(std::string_view text) {
  std::int64_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) at += unicode::code_point_at(text, at).size;
  return characters;
}

bool outside(std::int64_t count, std::int64_t least, std::int64_t most) {
  return count < least || (most != kUnlimited && count > most);
}

Result<bool> possible_array(SchemaReader& reader, const ArrayFacts& facts) {
  std::int64_t least = facts.least;
  for (const auto& contains : facts.contains) least = std::max(least, contains.least);
  if (outside(least, 0, facts.most)) return false;
  // Items beyond the prefix are alike.
  const std::size_t looked_at = std::min(static_cast<std::size_t>(least), facts.prefix.size() + 1);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const auto some = reader.possible(facts.item(i));
    if (!some || !*some) return some;
  }
  for (const auto& contains : facts.contains) {
    if (contains.least == 0) continue;
    bool found = false;
    for (std::size_t i = contains.from; i <= std::max(facts.prefix.size(), contains.from) && !found; ++i) {
      if (outside(static_cast<std::int64_t>(i) + 1, 0, facts.most)) break;
      const auto some = reader.possible(both(facts.item(i), contains.goal));
      if (!some) return some;
      found = *some;
    }
    if (!found) return false;
  }
  return true;
}

Result<bool> possible_object(SchemaReader& reader, const ObjectFacts& facts) {
  for (const std::string& name : facts.required) {  // most that is impossible is so here: schemas with tags
    const auto goal = named_goal(reader, facts, name);
    if (!goal) return goal.error();
    const auto some = reader.possible(*goal);
    if (!some || !*some) return some;
  }
  const auto made = reader.plan(facts);
  if (!made) return made.error();
  if (outside(facts.least, 0, facts.most)) return false;
  if (!made->possible || outside(static_cast<std::int64_t>(facts.required.size()), 0, facts.most)) return false;
  if (made->others.empty() && outside(static_cast<std::int64_t>(made->declared.size()), facts.least, kUnlimited)) {
    return false;
  }
  for (std::size_t i = 0; i < facts.somewhere.size(); ++i) {
    bool found = false;
    const auto look = [&](const auto& places) -> Result<void> {
      for (const auto& place : places) {
        if (found || !place.marks[i]) continue;
        const auto some = reader.possible(both(place.goal, facts.somewhere[i].goal));
        if (!some) return some.error();
        found = *some;
      }
      return {};
    };
    if (auto done = look(made->declared); !done) return done.error();
    if (auto done = look(made->others); !done) return done.error();
    if (!found) return false;
  }
  return true;
}

Result<bool> array_fits(SchemaReader& reader, const Json& value, const ArrayFacts& facts) {
  if (outside(static_cast<std::int64_t>(value.size()), facts.least, facts.most)) return false;
  std::vector<std::int64_t> counts(facts.contains.size());
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto fit = reader.fits(value[i], facts.item(i));
    if (!fit || !*fit) return fit;
    if (facts.unique != nullptr && !seen.insert(canonical(value[i])).second) return false;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      if (i < facts.contains[k].from) continue;
      const auto contained = reader.fits(value[i], facts.contains[k].goal);
      if (!contained) return contained;
      counts[k] += *contained ? 1 : 0;
    }
  }
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (outside(counts[k], facts.contains[k].least, facts.contains[k].most)) return false;
  }
  return true;
}

Result<bool> object_fits(SchemaReader& reader, const Json& value, const ObjectFacts& facts) {
  if (outside(static_cast<std::int64_t>(value.size()), facts.least, facts.most)) return false;
  for (const std::string& name : facts.required) {
    if (!value.contains(name)) return false;
  }
  std::vector<bool> found(facts.somewhere.size());
  for (const auto& [name, member] : value.items()) {
    const auto goal = named_goal(reader, facts, name);
    if (!goal) return goal.error();
    const auto fit = reader.fits(member, *goal);
    if (!fit || !*fit) return fit;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto place = is_outside(reader, facts.somewhere[i], name);
      if (!place) return place;
      if (!*place || found[i]) continue;
      const auto there = reader.fits(member, facts.somewhere[i].goal);
      if (!there) return there;
      found[i] = *there;
    }
  }
  return std::all_of(found.begin(), found.end(), [](bool one) { return one; });
}

}  // namespace

// The least fixed point: a goal that needs itself is not possible. What was found out while such a goal was open holds
// only for as long as it is.
Result<bool> SchemaReader::possible(const Goal& goal) {
  if (goal.empty()) return true;
  Goal sorted = goal;
  std::sort(sorted.begin(), sorted.end());
  if (const auto found = possible_.find(sorted); found != possible_.end()) return found->second;
  if (const auto found = asked_.find(sorted); found != asked_.end()) {
    lowest_ = std::min(lowest_, found->second);
    return false;
  }
  if (asked_.size() >= kMaxNested) return true;
  if (auto fine = meter_.spend(); !fine) return fine.error();
  const int order = static_cast<int>(asked_.size());
  const int outer_lowest = std::exchange(lowest_, order);
  const int before = approximations_;
  asked_.emplace(sorted, order);
  ++level_;
  const auto search = [&]() -> Result<bool> {
    const auto all = alternatives(goal);
    if (!all) return all.error();
    for (const Facts& facts : **all) {
      const auto some = possible(facts);
      if (!some || *some) return some;
    }
    return false;
  };
  auto found = search();
  --level_;
  asked_.erase(sorted);
  const bool final = lowest_ >= order && before == approximations_;
  if (found && (final || (*found && before == approximations_))) possible_.emplace(std::move(sorted), *found);
  lowest_ = std::min(outer_lowest, lowest_);
  return found;
}

Result<bool> SchemaReader::possible(const Facts& facts) {
  if (facts.values) {
    for (const Json* value : *facts.values) {
      const auto some = listed_fits(*value, facts);
      if (!some || *some) return some;
    }
    return false;
  }
  if ((facts.types & (kNull | kBoolean)) != 0) return true;
  if ((facts.types & kNumber) != 0) {
    if (facts.number == NumberFacts{}) return true;
    const auto some = number_automata(facts.number, facts.types, meter_);
    if (!some) return some.error();
    if (!some->empty()) return true;
  }
  if ((facts.types & kString) != 0) {
    if (facts.string.patterns.empty() && facts.string.excluded.empty()) {
      if (!outside(facts.string.least, 0, facts.string.most)) return true;
    } else {
      const auto some = strings(facts.string);
      if (!some) return some.error();
      if (!some->empty()) return true;
    }
  }
  if ((facts.types & kArray) != 0) {
    const auto some = possible_array(*this, facts.array);
    if (!some || *some) return some;
  }
  if ((facts.types & kObject) == 0) return false;
  return possible_object(*this, facts.object);
}

Result<bool> SchemaReader::fits(const Json& value, const Goal& goal) {
  ++level_;
  const auto all = alternatives(goal);
  --level_;
  if (!all) return all.error();
  for (const Facts& facts : **all) {
    const auto fit = fits(value, facts);
    if (!fit || *fit) return fit;
  }
  return false;
}

Result<bool> SchemaReader::fits(const Json& value, const Facts& facts) {
  if (facts.values) {
    const std::string text = canonical(value);
    const auto same = [&](const Json* one) { return canonical(*one) == text; };
    if (std::none_of(facts.values->begin(), facts.values->end(), same)) return false;
  }
  return listed_fits(value, facts);
}

Result<bool> SchemaReader::listed_fits(const Json& value, const Facts& facts) {
  const Types type = type_of(value);
  if ((facts.types & type) == 0) return false;
  if ((type & kNumber) != 0) return facts.number == NumberFacts{} || number_fits(facts.number, Decimal::of(value));
  if (type == kArray) return array_fits(*this, value, facts.array);
  if (type == kObject) return object_fits(*this, value, facts.object);
  if (type != kString) return true;
  const std::string& text = value.get_ref<const std::string&>();
  if (outside(length(text), facts.string.least, facts.string.most)) return false;
  for (const auto& pattern : facts.string.patterns) {
    const auto found = pattern_matches(*this, pattern.regex, text);
    if (!found) return found;
    if (*found != pattern.holds) return false;
  }
  const auto& excluded = facts.string.excluded;
  return std::find(excluded.begin(), excluded.end(), text) == excluded.end();
}

Result<std::optional<std::vector<const Json*>>> SchemaReader::finite(const Goal& goal) {
  static const Json kNames[] = {nullptr, false, true};
  const auto all = alternatives(goal);
  if (!all) return all.error();
  std::vector<const Json*> made;
  std::set<std::string> seen;
  for (const Facts& facts : **all) {
    std::vector<const Json*> values;
    if (facts.values) {
      values = *facts.values;
    } else if ((facts.types & ~(kNull | kBoolean)) == 0) {
      for (const Json& name : kNames) values.push_back(&name);
    } else {
      return std::optional<std::vector<const Json*>>();
    }
    for (const Json* value : values) {
      const auto fit = listed_fits(*value, facts);
      if (!fit) return fit.error();
      if (*fit && seen.insert(canonical(*value)).second) made.push_back(value);
    }
  }
  return std::optional(std::move(made));
}

}  // namespace millrace::grammar::json_schema
