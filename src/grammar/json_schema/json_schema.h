#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_schema/json_schema_options.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// Adds the JSON texts that fit the schema (draft 2020-12, with differences of older drafts), properties in the schema's
// order; see docs/json_schema.md. Several schemas may be added to one grammar; they are independent. Keywords that are
// left out are noted in `to`: "/properties/a/uniqueItems". kInvalidArgument: the schema is wrong, or nothing fits it.
// kUnsupported names the keyword. The meter limits the cost.
Result<ExpressionId> add_json_schema(Grammar& to, const nlohmann::ordered_json& schema,
                                     const JsonSchemaOptions& options, WorkMeter& meter);

}  // namespace millrace::grammar
