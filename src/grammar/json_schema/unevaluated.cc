// unevaluatedProperties, unevaluatedItems: where it is known which of the schemas beside them hold, they are
// "additionalProperties" and "items" of all of these.

#include "grammar/json_schema/schema_reader.h"

namespace millrace::grammar::json_schema {
namespace {

void add_unevaluated_properties(const Json& schema, Facts& facts) {
  ObjectFacts::Scope scope;
  for (const auto& seen : facts.object.scopes) {
    if (!seen.evaluates) continue;
    if (seen.additional) return;
    for (const auto& [name, goal] : seen.properties) scope.properties.emplace_back(name, Goal{});
    for (const auto& [pattern, goal] : seen.patterns) scope.patterns.emplace_back(pattern, Goal{});
  }
  scope.additional = Goal{{&schema, true}};
  facts.object.scopes.push_back(std::move(scope));
}

void add_unevaluated_items(const Json& schema, Facts& facts) {
  ArrayFacts& array = facts.array;
  const std::size_t seen = array.evaluated;
  for (std::size_t i = seen; i < array.prefix.size(); ++i) add_to(array.prefix[i], {{&schema, true}});
  while (array.prefix.size() < seen) array.prefix.push_back(array.rest);
  add_to(array.rest, {{&schema, true}});
  array.all_evaluated = true;
}

}  // namespace

Result<void> SchemaReader::add_unevaluated(const Json& schema, Alternatives& made) {
  if (const auto found = schema.find("unevaluatedItems"); found != schema.end()) {
    for (Facts& facts : made) {
      if ((facts.types & kArray) == 0 || facts.array.all_evaluated) continue;
      if (facts.array.evaluates_some) {
        if (auto done = left_out(schema, "unevaluatedItems", "beside \"contains\""); !done) return done;
      } else {
        add_unevaluated_items(*found, facts);
      }
    }
  }
  if (const auto found = schema.find("unevaluatedProperties"); found != schema.end()) {
    for (Facts& facts : made) {
      if ((facts.types & kObject) != 0) add_unevaluated_properties(*found, facts);
    }
  }
  return {};
}

}  // namespace millrace::grammar::json_schema
