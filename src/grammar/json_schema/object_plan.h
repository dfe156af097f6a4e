#pragma once

#include <string>

#include "base/result.h"
#include "grammar/json_schema/facts.h"

namespace millrace::grammar::json_schema {

class SchemaReader;

// All that the scopes and "propertyNames" ask of the property of that name.
Result<Goal> named_goal(SchemaReader& reader, const ObjectFacts& facts, const std::string& name);
// Whether `somewhere` counts the property of that name: none of its own properties and patterns has it.
Result<bool> is_outside(SchemaReader& reader, const ObjectFacts::Somewhere& somewhere, const std::string& name);
// Whether the pattern is found in the text.
Result<bool> pattern_matches(SchemaReader& reader, const std::string& regex, const std::string& text);

}  // namespace millrace::grammar::json_schema
