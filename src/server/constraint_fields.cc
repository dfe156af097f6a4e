#include "server/constraint_fields.h"

#include <utility>

#include "server/limits.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;
using Source = grammar::GrammarSource;
using L = RequestLimits;

Result<void> constrain(Fields& to, const std::string& field, Source source) {
  if (to.constraint) {
    return make_error(ErrorCode::kInvalidArgument, field, "{} and {} exclude each other", field, to.constraint->field);
  }
  if (source.text.size() > L::kGrammarBytes) {
    return make_error(ErrorCode::kInvalidArgument, field, "{} has {} bytes: the limit is {}", field, source.text.size(),
                      L::kGrammarBytes);
  }
  to.constraint = {.field = field, .source = std::move(source)};
  return {};
}

Result<void> constrain_to_text(Fields& to, const std::string& field, std::string language, const Json& value) {
  if (!value.is_string()) return GenerationSchema::wrong_type(field, "a string");
  return constrain(to, field, {.language = std::move(language), .text = value.get<std::string>()});
}

// A schema as JSON, or as the text of it.
Result<Json> read_schema(const std::string& field, const Json& value) {
  if (value.is_object() || value.is_boolean()) return value;
  if (!value.is_string()) return GenerationSchema::wrong_type(field, "a JSON schema");
  auto parsed = parse_json(value.get_ref<const std::string&>());
  if (!parsed || !(parsed->is_object() || parsed->is_boolean()))
    return GenerationSchema::wrong_type(field, "a JSON schema or the text of one");
  return parsed;
}

// What describes objects by their properties and says nothing of others forbids them.
void forbid_additional(Json& schema) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.contains("properties") && !schema.contains("additionalProperties")) {
    schema["additionalProperties"] = false;
  }
  for (Json& inner : schema) forbid_additional(inner);
}

struct JsonOptions {
  Source::WhiteSpace white_space = Source::WhiteSpace::kFlexible;
  bool closed_objects = false, ignore_unsupported = false;
};

Result<void> constrain_to_schema(Fields& to, const std::string& field, const Json& value, const JsonOptions& options) {
  auto schema = read_schema(field, value);
  if (!schema) return schema.error();
  if (options.closed_objects) forbid_additional(*schema);
  return constrain(to, field,
                   {.language = "json_schema",
                    .text = dumped(*schema),
                    .white_space = options.white_space,
                    .ignore_unsupported = options.ignore_unsupported});
}

Result<void> constrain_to_object(Fields& to, const std::string& field, const JsonOptions& options) {
  return constrain(to, field, {.language = "json_object", .text = "", .white_space = options.white_space});
}

Result<void> constrain_to_choice(Fields& to, const std::string& field, const Json& value) {
  auto texts = read_strings(field, value, L::kGrammarChoices, L::kGrammarBytes);
  if (!texts) return texts.error();
  if (!value.is_array() || texts->empty()) return GenerationSchema::wrong_type(field, "a list of at least one string");
  return constrain(to, field, {.language = "choice", .text = dumped(value)});
}

Result<bool> read_flag(const Json& object, const char* name, const std::string& path) {
  const Json value = object.value(name, Json());
  if (value.is_null()) return false;
  if (!value.is_boolean()) return GenerationSchema::wrong_type(path + "." + name, "true or false");
  return value.get<bool>();
}

// vLLM's: one of json, json_object, regex, choice, grammar and structural_tag, and options.
Result<void> read_structured_outputs(Fields& to, const Json& value, FieldNotes& notes) {
  const std::string name = "structured_outputs";
  if (!value.is_object()) return GenerationSchema::wrong_type(name, "an object");
  JsonOptions options;
  auto spaced = read_flag(value, "disable_any_whitespace", name);
  if (!spaced) return spaced.error();
  if (*spaced) options.white_space = Source::WhiteSpace::kSpaced;
  auto closed = read_flag(value, "disable_additional_properties", name);
  if (!closed) return closed.error();
  options.closed_objects = *closed;
  for (const auto& [key, inner] : value.items()) {
    if (inner.is_null()) continue;
    const std::string field = name + "." + key;
    Result<void> read;
    if (key == "json") {
      read = constrain_to_schema(to, field, inner, options);
    } else if (key == "json_object") {
      if (!inner.is_boolean()) return GenerationSchema::wrong_type(field, "true or false");
      if (inner == true) read = constrain_to_object(to, field, options);
    } else if (key == "regex") {
      read = constrain_to_text(to, field, "regex", inner);
    } else if (key == "choice") {
      read = constrain_to_choice(to, field, inner);
    } else if (key == "grammar") {
      read = constrain_to_text(to, field, "ebnf", inner);
    } else if (key == "structural_tag") {
      read = inner.is_object() ? constrain(to, field, {.language = "structural_tag", .text = dumped(inner)})
                               : constrain_to_text(to, field, "structural_tag", inner);
    } else if (key == "disable_fallback" || key == "_backend" || key == "_backend_was_auto") {
      notes.add(field);  // there is one backend
    } else if (key != "disable_any_whitespace" && key != "disable_additional_properties") {
      return make_error(ErrorCode::kUnsupported, name, "{} has a field that this server does not know", name);
    }
    if (!read) return read;
  }
  return {};
}

}  // namespace

Result<void> read_response_format(Fields& to, const std::string& name, const Json& value, bool flat) {
  if (!value.is_object()) return GenerationSchema::wrong_type(name, "an object with a type");
  const Json type = value.value("type", Json());
  if (type == "text") return {};
  if (type == "structural_tag") return constrain(to, name, {.language = "structural_tag", .text = dumped(value)});
  const bool has_schema = value.contains("schema") && !value["schema"].is_null();
  // llama-server's has the schema beside the type.
  if (type == "json_object" && !has_schema) return constrain_to_object(to, name, {});
  if (type == "json_object") return constrain_to_schema(to, name + ".schema", value["schema"], {});
  if (type != "json_schema")
    return GenerationSchema::wrong_type(name + ".type", "text, json_object, json_schema or structural_tag");
  const std::string path = flat ? name : name + ".json_schema";
  const Json inner = flat ? value : value.value("json_schema", Json());
  if (!inner.is_object()) return GenerationSchema::wrong_type(path, "an object with a schema");
  const char* key = inner.contains("schema") ? "schema" : "json_schema";  // as pydantic spells it
  if (!inner.contains(key) || inner[key].is_null()) {
    return make_error(ErrorCode::kInvalidArgument, path + ".schema", "{}.schema is required", path);
  }
  const Json strict = inner.value("strict", Json());
  if (!strict.is_null() && !strict.is_boolean()) return GenerationSchema::wrong_type(path + ".strict", "true or false");
  // Who says that it need not be strict gets as near to it as a grammar comes; who says nothing expects what it says.
  return constrain_to_schema(to, path + ".schema", inner[key], {.ignore_unsupported = strict == false});
}

void add_constraint_fields(GenerationSchema& schema) {
  const Json object = {{"type", {"object", "null"}}},
             text = {{"type", {"string", "null"}}, {"maxLength", L::kGrammarBytes}};
  const Json any = Json::object();
  const Json formats = {
      {"type", {"object", "null"}},
      {"required", {"type"}},
      {"properties", {{"type", {{"enum", {"text", "json_object", "json_schema", "structural_tag"}}}}}}};
  const auto add_text = [&](const char* name, const char* language, const char* about) {
    schema.field(name, about, text,
                 [name = std::string(name), language = std::string(language)](Fields& f, const Json& value) {
                   return constrain_to_text(f, name, language, value);
                 });
  };
  const auto add_schema = [&](const char* name, const char* about) {
    schema.field(name, about, any, [name = std::string(name)](Fields& f, const Json& value) {
      return constrain_to_schema(f, name, value, {});
    });
  };
  schema
      .field("response_format",
             "Format of the completion: text, json_object, json_schema {name, schema, strict}, structural_tag", formats,
             [](Fields& f, const Json& value) { return read_response_format(f, "response_format", value, false); })
      .field("structured_outputs",
             "One of json, json_object, regex, choice, grammar (GBNF or Lark), structural_tag; disable_any_whitespace, "
             "disable_additional_properties",
             object, read_structured_outputs)
      .field("guided_choice", "Alias of structured_outputs.choice (older name)", {{"type", {"array", "null"}}},
             [](Fields& f, const Json& value) { return constrain_to_choice(f, "guided_choice", value); })
      .rejected("guided_whitespace_pattern", "see structured_outputs.disable_any_whitespace")
      .listed("guided_decoding_backend", "there is one backend", {{"type", "string"}});
  add_schema("guided_json", "Alias of structured_outputs.json (older name)");
  add_schema("json_schema", "Alias of guided_json (llama-server)");
  add_text("guided_regex", "regex", "Alias of structured_outputs.regex (older name)");
  add_text("regex", "regex", "Alias of guided_regex (SGLang)");
  add_text("guided_grammar", "ebnf", "Alias of structured_outputs.grammar (older name)");
  add_text("ebnf", "ebnf", "Alias of guided_grammar (SGLang)");
  add_text("grammar", "gbnf", "Grammar in GBNF (llama-server's name)");
}

}  // namespace millrace::server
