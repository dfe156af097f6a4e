// A JSON Schema as text: docs/json_schema.md.

#include "grammar/json_schema/json_schema.h"

#include <set>

#include "grammar/language.h"

namespace millrace::grammar::languages {
namespace {

using Json = nlohmann::ordered_json;

// Which of two properties of one name counts is nowhere said: such a schema is refused.
Result<Json> parse(const std::string& text) {
  std::vector<std::set<std::string>> names;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second) twice = parsed;
    return true;
  };
  Json schema = Json::parse(text, watch, false);
  if (schema.is_discarded()) return grammar_invalid("the JSON schema is not JSON");
  if (!twice.empty()) return grammar_invalid("the JSON schema has the key \"{}\" twice in an object", twice);
  return schema;
}

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter,
                         std::vector<std::string>& ignored) {
  const auto schema = parse(source.text);
  if (!schema) return schema.error();
  const JsonSchemaOptions options{.white_space = source.white_space, .ignore_unsupported = source.ignore_unsupported};
  return add_json_schema(to, *schema, options, meter, ignored);
}

}  // namespace

Language json_schema() {
  return {.name = "json_schema", .description = "JSON that fits a JSON Schema (2020-12 and older drafts)", .add = add};
}

}  // namespace millrace::grammar::languages
