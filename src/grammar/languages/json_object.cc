// Any JSON object; the source has no text.

#include "grammar/json_schema/json_text.h"
#include "grammar/language.h"

namespace millrace::grammar::languages {
namespace {

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& /*meter*/) {
  return json_schema::JsonText(to, source.white_space).object();
}

}  // namespace

Language json_object() { return {.name = "json_object", .description = "any JSON object", .add = add}; }

}  // namespace millrace::grammar::languages
