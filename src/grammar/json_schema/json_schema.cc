#include "grammar/json_schema/json_schema.h"

#include "grammar/json_schema/document.h"
#include "grammar/json_schema/grammar_writer.h"
#include "grammar/json_schema/schema_reader.h"

namespace millrace::grammar {

Result<ExpressionId> add_json_schema(Grammar& to, const nlohmann::ordered_json& schema,
                                     const JsonSchemaOptions& options, WorkMeter& meter) {
  const auto document = json_schema::Document::read(schema, meter.limits());
  if (!document) return document.error();
  std::vector<std::string> ignored;
  json_schema::SchemaReader reader(*document, options.ignore_unsupported, meter, ignored);
  json_schema::JsonText text(to, options.white_space);
  auto made = json_schema::GrammarWriter(to, text, reader).write({{&schema, true}});
  if (made) to.note_ignored(std::move(ignored));
  return made;
}

}  // namespace millrace::grammar
