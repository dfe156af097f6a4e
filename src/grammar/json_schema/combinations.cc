// Schemas that speak of the same value: allOf, anyOf, not, if, $ref, dependent...

#include <algorithm>

#include "grammar/json_schema/schema_reader.h"

namespace millrace::grammar::json_schema {
namespace {

constexpr int kMaxDepth = 256;  // of schemas for one value: $ref to $ref to allOf ...

bool is_reference(std::string_view keyword) {
  return keyword == "$ref" || keyword == "$dynamicRef" || keyword == "$recursiveRef";
}

bool is_dependency(std::string_view keyword) {
  return keyword == "dependentRequired" || keyword == "dependentSchemas" || keyword == "dependencies";
}

Facts with_property(const std::string& name) {
  Facts facts;
  facts.types = kObject;
  facts.object.required = {name};
  return facts;
}

Facts without_property(const std::string& name) {
  Facts facts;
  facts.object.scopes = {
      {.properties = {{name, {{&nothing(), true}}}}, .patterns = {}, .additional = {}, .evaluates = false}};
  return facts;
}

// What fails says nothing about which properties and items have been seen.
void forget_evaluated(Facts& facts) {
  for (auto& scope : facts.object.scopes) scope.evaluates = false;
  facts.array.evaluated = 0;
  facts.array.all_evaluated = false;
  facts.array.evaluates_some = false;
}

}  // namespace

Result<SchemaReader::Shared> SchemaReader::expand(Condition condition) {
  const Key key{condition, annotating_ > 0};
  if (const auto found = expanded_.find(key); found != expanded_.end()) return found->second;
  if (const auto found = being_read_.find(condition); found != being_read_.end()) {
    if (found->second == level_) {
      return document_.invalid(*condition.schema, "", "refers to itself for the same value");
    }
    ++approximations_;
    return std::make_shared<const Alternatives>(1);
  }
  if (auto fine = meter_.spend(); !fine) return fine.error();
  if (depth_ >= kMaxDepth) return document_.invalid(*condition.schema, "", "is nested too deep in other schemas");
  const int before = approximations_;
  being_read_.emplace(condition, level_);
  ++depth_;
  auto made = expand_anew(condition);
  --depth_;
  being_read_.erase(condition);
  if (!made) return made.error();
  auto shared = std::make_shared<const Alternatives>(*std::move(made));
  if (before == approximations_) expanded_.emplace(key, shared);
  return shared;
}

Result<Alternatives> SchemaReader::expand_anew(Condition condition) {
  const Json& schema = *condition.schema;
  if (schema.is_boolean()) return schema == condition.holds ? Alternatives(1) : Alternatives();
  if (!schema.is_object()) return document_.invalid(schema, "", "must be a schema: an object, true or false");
  if (condition.holds) return holding(schema);
  auto made = failing(schema);
  if (!made) return made;
  for (Facts& facts : *made) forget_evaluated(facts);
  return made;
}

Result<Alternatives> SchemaReader::holding(const Json& schema) {
  const bool alone = document_.ref_stands_alone() && schema.contains("$ref");
  const bool unevaluated = !alone && (schema.contains("unevaluatedProperties") || schema.contains("unevaluatedItems"));
  annotating_ += unevaluated ? 1 : 0;
  const auto read = [&]() -> Result<Alternatives> {
    Alternatives made(1);
    if (!alone) {
      auto facts = facts_of(schema);
      if (!facts) return facts.error();
      made[0] = *std::move(facts);
    }
    for (const auto& [keyword, value] : schema.items()) {
      if (alone && keyword != "$ref") continue;
      if (auto done = also(made, schema, keyword, value); !done) return done.error();
    }
    return made;
  };
  auto made = read();
  annotating_ -= unevaluated ? 1 : 0;
  if (!made || !unevaluated) return made;
  if (auto done = add_unevaluated(schema, *made); !done) return done.error();
  return made;
}

// The keywords that speak of the value by themselves.
Result<Facts> SchemaReader::facts_of(const Json& schema) {
  Facts facts;
  for (const auto& [name, value] : schema.items()) {
    const Keyword* keyword = find_keyword(name);
    if (keyword == nullptr) continue;
    auto done = keyword->holds({name, value, schema, document_, patterns_}, facts);
    if (!done && done.error().code == ErrorCode::kUnsupported) done = left_out(schema, name, done.error().message);
    if (!done) return done.error();
  }
  facts.settle();
  return facts;
}

// Conjoins a keyword that holds schemas for the same value.
Result<void> SchemaReader::also(Alternatives& made, const Json& schema, const std::string& keyword, const Json& value) {
  const auto read = [&]() -> Result<Alternatives> {
    if (is_reference(keyword)) {
      const auto target = document_.referred(schema, keyword);
      if (!target) return target.error();
      const auto all = expand({*target, true});
      return all ? Result<Alternatives>(**all) : all.error();
    }
    if (keyword == "not") {
      const auto all = expand({&value, false});
      return all ? Result<Alternatives>(**all) : all.error();
    }
    if (keyword == "if") return conditional(schema, value, true);
    if (is_dependency(keyword)) return dependents(schema, keyword, value, true);
    if (keyword != "allOf" && keyword != "anyOf" && keyword != "oneOf") return Alternatives(1);
    if (!value.is_array() || value.empty()) return document_.invalid(schema, keyword, "must be a list of schemas");
    if (keyword == "allOf") return every_of(value, true);
    if (keyword == "oneOf") return one_of(schema, value);
    return annotating_ > 0 ? any_subset_of(value) : any_of(value, true);
  };
  const auto more = read();
  if (!more) {
    if (more.error().code != ErrorCode::kUnsupported) return more.error();
    return left_out(schema, keyword, more.error().message);
  }
  auto both = conjunction(made, *more);
  if (!both) return both.error();
  made = *std::move(both);
  return {};
}

Result<Alternatives> SchemaReader::failing(const Json& schema) {
  Alternatives made;
  const bool alone = document_.ref_stands_alone() && schema.contains("$ref");
  for (const auto& [name, value] : schema.items()) {
    if (alone && name != "$ref") continue;
    if (const Keyword* keyword = find_keyword(name); keyword != nullptr) {
      if (auto done = keyword->fails({name, value, schema, document_, patterns_}, made); !done) return done.error();
    } else if (auto done = or_fails(made, schema, name, value); !done) {
      return done.error();
    }
  }
  for (Facts& facts : made) facts.settle();
  return made;
}

Result<void> SchemaReader::or_fails(Alternatives& made, const Json& schema, const std::string& keyword,
                                    const Json& value) {
  const auto read = [&]() -> Result<Alternatives> {
    if (is_reference(keyword) || keyword == "not") {
      const auto target = keyword == "not" ? Result<const Json*>(&value) : document_.referred(schema, keyword);
      if (!target) return target.error();
      const auto all = expand({*target, keyword == "not"});
      return all ? Result<Alternatives>(**all) : all.error();
    }
    if (keyword == "if") return conditional(schema, value, false);
    if (is_dependency(keyword)) return dependents(schema, keyword, value, false);
    if (keyword.starts_with("unevaluated")) return document_.unsupported(schema, keyword, "that it does not hold");
    if (keyword != "allOf" && keyword != "anyOf" && keyword != "oneOf") return Alternatives();
    if (!value.is_array() || value.empty()) return document_.invalid(schema, keyword, "must be a list of schemas");
    if (keyword == "allOf") return any_of(value, false);
    return keyword == "anyOf" ? every_of(value, false) : none_or_two_of(value);
  };
  auto more = read();
  if (!more) return more.error();
  append(made, *std::move(more));
  return {};
}

Result<Alternatives> SchemaReader::conjunction(const Alternatives& a, const Alternatives& b) {
  if (auto fine = meter_.spend(static_cast<std::int64_t>(a.size() * b.size())); !fine) return fine.error();
  Alternatives made;
  for (const Facts& one : a) {
    for (const Facts& other : b) {
      Facts facts = meet(one, other);
      if (facts.types == 0 || (facts.values && facts.values->empty())) continue;
      made.push_back(std::move(facts));
    }
  }
  return made;
}

Result<Alternatives> SchemaReader::every_of(const Json& list, bool holds) {
  Alternatives made(1);
  for (const Json& schema : list) {
    const auto one = expand({&schema, holds});
    if (!one) return one.error();
    auto both = conjunction(made, **one);
    if (!both) return both;
    made = *std::move(both);
  }
  return made;
}

Result<Alternatives> SchemaReader::any_of(const Json& list, bool holds) {
  Alternatives made;
  for (const Json& schema : list) {
    const auto one = expand({&schema, holds});
    if (!one) return one.error();
    append(made, **one);
  }
  return made;
}

// What is evaluated depends on which of the schemas hold: each of them does or may not.
Result<Alternatives> SchemaReader::any_subset_of(const Json& list) {
  Alternatives made;
  for (const Json& schema : list) {
    const auto one = expand({&schema, true});
    if (!one) return one.error();
    auto with = conjunction(made, **one);
    if (!with) return with;
    append(made, *std::move(with));
    append(made, **one);
  }
  return made;
}

// (if and then) or (not if, and else); where all of it fails: (if and not then) or (not if, and not else).
Result<Alternatives> SchemaReader::conditional(const Json& schema, const Json& condition, bool holds) {
  static const Json anything = true;
  const Json& then = schema.contains("then") ? schema.at("then") : anything;
  const Json& otherwise = schema.contains("else") ? schema.at("else") : anything;
  if (&then == &anything && &otherwise == &anything && annotating_ == 0) {
    return holds ? Alternatives(1) : Alternatives();
  }
  Alternatives made;
  for (const bool met : {true, false}) {
    const auto first = expand({&condition, met});
    if (!first) return first.error();
    const auto second = expand({met ? &then : &otherwise, holds});
    if (!second) return second.error();
    auto both = conjunction(**first, **second);
    if (!both) return both;
    append(made, *std::move(both));
  }
  return made;
}

// For each name: the property is absent, or it is there and the rest follows.
Result<Alternatives> SchemaReader::dependents(const Json& schema, const std::string& keyword, const Json& value,
                                              bool holds) {
  if (!value.is_object()) return document_.invalid(schema, keyword, "must be an object");
  Alternatives made(holds ? 1 : 0);
  for (const auto& [name, follows] : value.items()) {
    Alternatives with = {with_property(name)};
    if (follows.is_array()) {
      Alternatives cases;
      const Keyword& required = *find_keyword("required");
      const KeywordUse use{keyword, follows, schema, document_, patterns_};
      if (holds) cases.emplace_back();
      const auto done = holds ? required.holds(use, cases[0]) : required.fails(use, cases);
      if (!done) return done.error();
      auto both = conjunction(with, cases);
      if (!both) return both;
      with = *std::move(both);
    } else {
      const auto then = expand({&follows, holds});
      if (!then) return then.error();
      auto both = conjunction(with, **then);
      if (!both) return both;
      with = *std::move(both);
    }
    if (!holds) {
      append(made, std::move(with));
      continue;
    }
    with.insert(with.begin(), without_property(name));
    auto both = conjunction(made, with);
    if (!both) return both;
    made = *std::move(both);
  }
  return made;
}

}  // namespace millrace::grammar::json_schema
