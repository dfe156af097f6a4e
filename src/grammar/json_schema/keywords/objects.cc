// properties, patternProperties, additionalProperties, propertyNames, required, minProperties, maxProperties.

#include <algorithm>

#include "grammar/json_schema/keyword.h"

namespace millrace::grammar::json_schema {
namespace {

Facts an_object() {
  Facts facts;
  facts.types = kObject;
  return facts;
}

ObjectFacts::Scope& scope(Facts& facts) {
  if (facts.object.scopes.empty()) facts.object.scopes.emplace_back();
  return facts.object.scopes.front();
}

std::vector<ObjectFacts::Named> members(const Json& schemas) {
  std::vector<ObjectFacts::Named> made;
  for (const auto& [name, schema] : schemas.items()) made.emplace_back(name, Goal{{&schema, true}});
  return made;
}

Result<void> properties_hold(const KeywordUse& use, Facts& facts) {
  if (!use.value.is_object()) return use.invalid("must be an object of schemas");
  scope(facts).properties = members(use.value);
  return {};
}

Result<void> properties_fail(const KeywordUse& use, Alternatives& cases) {
  if (!use.value.is_object()) return use.invalid("must be an object of schemas");
  for (const auto& [name, schema] : use.value.items()) {
    cases.push_back(an_object());
    cases.back().object.required = {name};
    scope(cases.back()).properties = {{name, {{&schema, false}}}};
  }
  return {};
}

Result<void> check_patterns(const KeywordUse& use) {
  if (!use.value.is_object()) return use.invalid("must be an object of schemas");
  for (const auto& [pattern, schema] : use.value.items()) {
    const auto made = use.patterns.find(pattern);
    if (made) continue;
    Error error = made.error();
    error.message = "JSON schema: " + use.document.path(schema) + ": " + error.message;
    return error;
  }
  return {};
}

Result<void> patterns_hold(const KeywordUse& use, Facts& facts) {
  if (auto fine = check_patterns(use); !fine) return fine;
  scope(facts).patterns = members(use.value);
  return {};
}

Result<void> patterns_fail(const KeywordUse& use, Alternatives& cases) {
  if (auto fine = check_patterns(use); !fine) return fine;
  for (const auto& [pattern, schema] : use.value.items()) {
    cases.push_back(an_object());
    cases.back().object.somewhere.push_back({.outside = {}, .pattern = pattern, .goal = {{&schema, false}}});
  }
  return {};
}

Result<void> additional_properties_holds(const KeywordUse& use, Facts& facts) {
  scope(facts).additional = Goal{{&use.value, true}};
  return {};
}

Result<void> additional_properties_fails(const KeywordUse& use, Alternatives& cases) {
  ObjectFacts::Somewhere found{.outside = {}, .pattern = {}, .goal = {{&use.value, false}}};
  if (const Json* named = use.beside("properties"); named != nullptr) found.outside.properties = members(*named);
  if (const Json* patterns = use.beside("patternProperties"); patterns != nullptr) {
    found.outside.patterns = members(*patterns);
  }
  for (auto* list : {&found.outside.properties, &found.outside.patterns}) {
    for (auto& [name, goal] : *list) goal.clear();
  }
  cases.push_back(an_object());
  cases.back().object.somewhere.push_back(std::move(found));
  return {};
}

Result<void> names_hold(const KeywordUse& use, Facts& facts) {
  facts.object.names = {{&use.value, true}};
  return {};
}

Result<void> names_fail(const KeywordUse& use, Alternatives& /*cases*/) {
  return use.unsupported("that a name does not fit");
}

Result<std::vector<std::string>> names(const KeywordUse& use) {
  std::vector<std::string> made;
  if (!use.value.is_array()) return use.invalid("must be a list of names");
  for (const Json& name : use.value) {
    if (!name.is_string()) return use.invalid("must be a list of names");
    const auto& text = name.get_ref<const std::string&>();
    if (std::find(made.begin(), made.end(), text) == made.end()) made.push_back(text);
  }
  return made;
}

Result<void> required_holds(const KeywordUse& use, Facts& facts) {
  auto read = names(use);
  if (!read) return read.error();
  facts.object.required = *std::move(read);
  return {};
}

Result<void> required_fails(const KeywordUse& use, Alternatives& cases) {
  const auto read = names(use);
  if (!read) return read.error();
  for (const std::string& name : *read) {
    cases.push_back(an_object());
    scope(cases.back()).properties = {{name, {{&nothing(), true}}}};
  }
  return {};
}

Result<void> min_properties_holds(const KeywordUse& use, Facts& facts) {
  const auto count = use.count();
  if (!count) return count.error();
  facts.object.least = *count;
  return {};
}

Result<void> min_properties_fails(const KeywordUse& use, Alternatives& cases) {
  const auto count = use.count();
  if (!count) return count.error();
  if (*count == 0) return {};
  cases.push_back(an_object());
  cases.back().object.most = *count - 1;
  return {};
}

Result<void> max_properties_holds(const KeywordUse& use, Facts& facts) {
  const auto count = use.count();
  if (!count) return count.error();
  facts.object.most = *count;
  return {};
}

Result<void> max_properties_fails(const KeywordUse& use, Alternatives& cases) {
  const auto count = use.count();
  if (!count) return count.error();
  cases.push_back(an_object());
  cases.back().object.least = *count + 1;
  return {};
}

constexpr Keyword kObjectKeywords[] = {
    {"properties", properties_hold, properties_fail},
    {"patternProperties", patterns_hold, patterns_fail},
    {"additionalProperties", additional_properties_holds, additional_properties_fails},
    {"propertyNames", names_hold, names_fail},
    {"required", required_holds, required_fails},
    {"minProperties", min_properties_holds, min_properties_fails},
    {"maxProperties", max_properties_holds, max_properties_fails},
};

}  // namespace

std::span<const Keyword> object_keywords() { return kObjectKeywords; }

}  // namespace millrace::grammar::json_schema
