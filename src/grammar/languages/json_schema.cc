// A JSON Schema as text: docs/json_schema.md.

#include "grammar/json_schema/json_schema.h"

#include "grammar/json_source.h"
#include "grammar/language.h"

namespace millrace::grammar::languages {
namespace {

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  const auto schema = parse_json_source("the JSON schema", source.text);
  if (!schema) return schema.error();
  const JsonSchemaOptions options{.white_space = source.white_space, .ignore_unsupported = source.ignore_unsupported};
  return add_json_schema(to, *schema, options, meter);
}

}  // namespace

Language json_schema() {
  return {.name = "json_schema", .description = "JSON that fits a JSON Schema (2020-12 and older drafts)", .add = add};
}

}  // namespace millrace::grammar::languages
