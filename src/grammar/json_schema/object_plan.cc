// The properties of an object: by name, and by what the other names look like.

#include <algorithm>

#include "grammar/json_schema/object_plan.h"
#include "grammar/json_schema/schema_reader.h"
#include "grammar/regex/character_classes.h"

namespace millrace::grammar::json_schema {
namespace {

using Scope = ObjectFacts::Scope;

const Goal* named(const Scope& scope, const std::string& name) {
  const auto found = std::find_if(scope.properties.begin(), scope.properties.end(),
                                  [&](const ObjectFacts::Named& one) { return one.first == name; });
  return found == scope.properties.end() ? nullptr : &found->second;
}

// Other names: which of the patterns are found in them.
struct NameClass {
  CharAutomaton names;
  std::vector<bool> found;
};

// Every pattern that says something of a property's name, once.
std::vector<std::string> patterns_of(const ObjectFacts& facts) {
  std::vector<std::string> patterns;
  const auto note = [&](const std::string& pattern) {
    if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
  };
  for (const Scope& scope : facts.scopes) {
    for (const auto& [pattern, goal] : scope.patterns) note(pattern);
  }
  for (const auto& somewhere : facts.somewhere) {
    for (const auto& [pattern, goal] : somewhere.outside.patterns) note(pattern);
    if (somewhere.pattern) note(*somewhere.pattern);
  }
  return patterns;
}

// For each of "somewhere", whether it counts names of a class: those in which none of its own patterns is found, and
// the one that it asks for, if any, is.
template <typename IsFound>
std::vector<bool> marks_of(const ObjectFacts& facts, const IsFound& is_found) {
  std::vector<bool> marks;
  for (const auto& somewhere : facts.somewhere) {
    const auto& others = somewhere.outside.patterns;
    marks.push_back(std::none_of(others.begin(), others.end(), [&](const auto& one) { return is_found(one.first); }) &&
                    (!somewhere.pattern || is_found(*somewhere.pattern)));
  }
  return marks;
}

// What "propertyNames" allows, without the names that have their own places.
Result<CharAutomaton> allowed_names(SchemaReader& reader, const ObjectFacts& facts,
                                    const std::set<std::string>& declared) {
  const std::vector<std::string> words(declared.begin(), declared.end());
  if (facts.names.empty()) return reader.strings({.least = 0, .most = kUnlimited, .patterns = {}, .excluded = words});
  const auto all = reader.alternatives(facts.names);
  if (!all) return all.error();
  CharAutomaton made;
  for (const Facts& name : **all) {
    if ((name.types & kString) == 0 || name.values) continue;  // listed names are declared
    auto some = reader.strings(name.string);
    if (!some) return some;
    auto both = made.unite(*some, reader.meter());
    if (!both) return both;
    made = *std::move(both);
  }
  const auto taken = reader.strings({.least = 0, .most = kUnlimited, .patterns = {}, .excluded = words});
  return taken ? made.intersect(*taken, reader.meter()) : taken;
}

Result<std::vector<ObjectPlan::Names>> other_names(SchemaReader& reader, const ObjectFacts& facts,
                                                   const std::set<std::string>& declared) {
  const std::vector<std::string> patterns = patterns_of(facts);
  const auto is_found = [&](const NameClass& names, const std::string& pattern) {
    return names
        .found[static_cast<std::size_t>(std::find(patterns.begin(), patterns.end(), pattern) - patterns.begin())];
  };
  const auto goal_of = [&](const NameClass& names) {
    Goal goal;
    for (const Scope& scope : facts.scopes) {
      bool seen = false;
      for (const auto& [pattern, more] : scope.patterns) {
        if (!is_found(names, pattern)) continue;
        add_to(goal, more);
        seen = true;
      }
      if (!seen && scope.additional) add_to(goal, *scope.additional);
    }
    return goal;
  };
  std::vector<ObjectPlan::Names> made;
  if (patterns.empty()) {  // spares the automaton where there are no other names
    const auto some = reader.possible(goal_of({}));
    if (!some) return some.error();
    if (!*some) return made;
  }
  auto allowed = allowed_names(reader, facts, declared);
  if (!allowed) return allowed.error();
  std::vector<NameClass> classes = {{*std::move(allowed), {}}};
  for (const std::string& pattern : patterns) {
    const auto automaton = reader.patterns().find(pattern);
    if (!automaton) return automaton.error();
    std::vector<NameClass> split;
    for (const NameClass& whole : classes) {
      for (const bool in : {true, false}) {
        auto names =
            in ? whole.names.intersect(**automaton, reader.meter()) : whole.names.minus(**automaton, reader.meter());
        if (!names) return names.error();
        if (names->empty()) continue;
        split.push_back({*std::move(names), whole.found});
        split.back().found.push_back(in);
      }
    }
    classes = std::move(split);
  }
  for (NameClass& names : classes) {
    Goal goal = goal_of(names);
    const auto some = reader.possible(goal);
    if (!some) return some.error();
    if (!*some || names.names.empty()) continue;
    std::vector<bool> marks = marks_of(facts, [&](const std::string& pattern) { return is_found(names, pattern); });
    made.push_back({std::move(names.names), std::move(goal), std::move(marks)});
  }
  return made;
}

}  // namespace

Result<bool> pattern_matches(SchemaReader& reader, const std::string& regex, const std::string& text) {
  const auto pattern = reader.patterns().find(regex);
  if (!pattern) return pattern.error();
  return (*pattern)->matches(characters_of(text));
}

Result<Goal> named_goal(SchemaReader& reader, const ObjectFacts& facts, const std::string& name) {
  Goal goal;
  for (const Scope& scope : facts.scopes) {
    const Goal* property = named(scope, name);
    bool seen = property != nullptr;
    if (seen) add_to(goal, *property);
    for (const auto& [pattern, more] : scope.patterns) {
      const auto found = pattern_matches(reader, pattern, name);
      if (!found) return found.error();
      if (*found) add_to(goal, more);
      seen = seen || *found;
    }
    if (!seen && scope.additional) add_to(goal, *scope.additional);
  }
  if (facts.names.empty()) return goal;
  const auto fine = reader.fits(Json(name), facts.names);
  if (!fine) return fine.error();
  if (!*fine) add_to(goal, {{&nothing(), true}});
  return goal;
}

Result<bool> is_outside(SchemaReader& reader, const ObjectFacts::Somewhere& somewhere, const std::string& name) {
  if (named(somewhere.outside, name) != nullptr) return false;
  for (const auto& [pattern, goal] : somewhere.outside.patterns) {
    const auto found = pattern_matches(reader, pattern, name);
    if (!found) return found;
    if (*found) return false;
  }
  return somewhere.pattern ? pattern_matches(reader, *somewhere.pattern, name) : Result<bool>(true);
}

Result<ObjectPlan> SchemaReader::plan(const ObjectFacts& facts) {
  std::vector<std::string> names;
  std::set<std::string> declared;
  const auto declare = [&](const std::string& name) {
    if (declared.insert(name).second) names.push_back(name);
  };
  for (const Scope& scope : facts.scopes) {
    for (const auto& [name, goal] : scope.properties) declare(name);
  }
  for (const std::string& name : facts.required) declare(name);
  bool only_declared = false;
  if (!facts.names.empty()) {
    const auto all = alternatives(facts.names);
    if (!all) return all.error();
    only_declared =
        std::all_of((*all)->begin(), (*all)->end(), [](const Facts& name) { return name.values.has_value(); });
    for (const Facts& name : **all) {
      for (const Json* value : name.values.value_or(std::vector<const Json*>())) {
        if (value->is_string()) declare(value->get<std::string>());
      }
    }
  }
  for (const auto& somewhere : facts.somewhere) {
    for (const auto& [name, goal] : somewhere.outside.properties) declare(name);
  }
  const std::set<std::string> required(facts.required.begin(), facts.required.end());
  ObjectPlan made;
  for (const std::string& name : names) {
    auto goal = named_goal(*this, facts, name);
    if (!goal) return goal.error();
    const auto some = possible(*goal);
    if (!some) return some.error();
    if (!*some) {
      made.possible = made.possible && !required.contains(name);
      continue;
    }
    ObjectPlan::Property property{name, *std::move(goal), required.contains(name), {}};
    for (const auto& somewhere : facts.somewhere) {
      const auto marked = is_outside(*this, somewhere, name);
      if (!marked) return marked.error();
      property.marks.push_back(*marked);
    }
    made.declared.push_back(std::move(property));
  }
  if (only_declared) return made;
  auto others = other_names(*this, facts, declared);
  if (!others) return others.error();
  made.others = *std::move(others);
  return made;
}

}  // namespace millrace::grammar::json_schema
