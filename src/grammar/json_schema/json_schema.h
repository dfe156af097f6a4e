#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_schema/json_schema_options.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// The JSON texts that fit the schema (draft 2020-12 and what older ones say otherwise), properties in the schema's
// order: see docs/json_schema.md. Several schemas may go into one grammar; they know nothing of each other. Keywords
// that are left out are noted in `to`: "/properties/a/uniqueItems".
// kInvalidArgument: the schema is wrong, or nothing fits it. kUnsupported names the keyword. Cost: within the meter.
Result<ExpressionId> add_json_schema(Grammar& to, const nlohmann::ordered_json& schema,
                                     const JsonSchemaOptions& options, WorkMeter& meter);

}  // namespace millrace::grammar
