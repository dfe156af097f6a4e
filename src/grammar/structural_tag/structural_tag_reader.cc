#include "grammar/structural_tag/structural_tag_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/json_source.h"
#include "grammar/regex/character_classes.h"

namespace millrace::grammar {

StructuralTagReader::StructuralTagReader(Grammar& to, const GrammarSource& source, WorkMeter& meter)
    : to_(to), source_(source), meter_(meter) {}

const std::vector<StructuralTagReader::Kind>& StructuralTagReader::kinds() {
  using Self = StructuralTagReader;
  // Formats that are one call of the grammar stand here whole.
  static const std::vector<Kind> all = {
      {"const_string", [](Self& self, FormatFields& f, const Words&) { return self.to_.bytes(f.string("value")); }},
      {"grammar", [](Self& self, FormatFields& f,
                     const Words&) { return self.source("ebnf", f.string("grammar"), f.at("grammar")); }},
      {"regex", [](Self& self, FormatFields& f,
                   const Words&) { return self.source("regex", f.string("pattern"), f.at("pattern")); }},
      {"optional",
       [](Self& self, FormatFields& f, const Words& stops) { return self.to_.optional(self.content(f, stops)); }},
      {"plus", [](Self& self, FormatFields& f,
                  const Words& stops) { return self.to_.repeat(self.content(f, stops), 1, kUnlimited); }},
      {"star", [](Self& self, FormatFields& f,
                  const Words& stops) { return self.to_.repeat(self.content(f, stops), 0, kUnlimited); }},
      {"json_schema", [](Self& self, FormatFields& f, const Words& stops) { return self.json_schema(f, stops); }},
      {"any_text", [](Self& self, FormatFields& f, const Words& stops) { return self.any_text(f, stops); }},
      {"sequence", [](Self& self, FormatFields& f, const Words& stops) { return self.sequence(f, stops); }},
      {"or", [](Self& self, FormatFields& f, const Words& stops) { return self.choice(f, stops); }},
      {"repeat", [](Self& self, FormatFields& f, const Words& stops) { return self.repeat(f, stops); }},
      {"tag", [](Self& self, FormatFields& f, const Words& stops) { return self.tag(f, stops); }},
      {"triggered_tags", [](Self& self, FormatFields& f, const Words& stops) { return self.triggered_tags(f, stops); }},
      {"tags_with_separator",
       [](Self& self, FormatFields& f, const Words& stops) { return self.tags_with_separator(f, stops); }},
      {"dispatch", [](Self& self, FormatFields& f, const Words& stops) { return self.dispatch(f, stops); }},
      {"token", [](Self& self, FormatFields& f, const Words& stops) { return self.token(f, stops); }},
      {"any_tokens", [](Self& self, FormatFields& f, const Words& stops) { return self.any_tokens(f, stops); }},
      {"token_triggered_tags",
       [](Self& self, FormatFields& f, const Words& stops) { return self.token_triggered_tags(f, stops); }},
      {"token_dispatch", [](Self& self, FormatFields& f, const Words& stops) { return self.token_dispatch(f, stops); }},
  };
  return all;
}

Result<ExpressionId> StructuralTagReader::run() {
  const auto json = parse_json_source("the structural tag", source_.text);
  if (!json) return json.error();
  FormatFields fields(*json, "", errors_);
  if (const Json* type = fields.optional("type"); type != nullptr && *type != "structural_tag") {
    errors_.invalid("/type", "must be \"structural_tag\"");
  }
  const bool is_legacy = json->is_object() && (json->contains("structures") || json->contains("triggers"));
  ExpressionId root = 0;
  if (is_legacy) {
    root = legacy(fields);
  } else if (const Json* inside = fields.require("format")) {
    root = format(*inside, "/format", {});
  }
  fields.close();
  if (errors_.any()) return errors_.first();
  return root;
}

ExpressionId StructuralTagReader::format(const Json& value, const std::string& pointer, const Words& stops) {
  if (++depth_ > meter_.limits().depth) {
    errors_.add(ErrorCode::kResourceExhausted, pointer, fmt::format("is nested deeper than {}", meter_.limits().depth));
  }
  if (auto fine = meter_.spend(); !fine) errors_.add(fine.error().code, pointer, fine.error().message);
  FormatFields fields(value, pointer, errors_);
  const std::string type = fields.string("type");
  ExpressionId made = 0;
  if (!errors_.any()) {
    const auto known = std::ranges::find(kinds(), type, &Kind::name);
    if (known == kinds().end()) {
      errors_.unsupported(fields.at("type"), fmt::format("the format \"{}\"", type));
    } else {
      made = known->read(*this, fields, stops);
      fields.close();
    }
  }
  --depth_;
  return made;
}

ExpressionId StructuralTagReader::source(std::string_view language, std::string text, const std::string& pointer) {
  if (errors_.any()) return 0;
  GrammarSource inside = source_;
  inside.language = language;
  inside.text = std::move(text);
  const std::size_t noted = to_.ignored().size();
  const auto made = add_source(to_, inside, meter_);
  to_.put_ignored_below(noted, pointer);
  if (made) return *made;
  errors_.add(made.error().code, pointer, made.error().message);
  return 0;
}

ExpressionId StructuralTagReader::automaton(Result<CharAutomaton> made, const std::string& pointer) {
  if (made) return to_.automaton(*std::move(made));
  errors_.add(made.error().code, pointer, made.error().message);
  return 0;
}

ExpressionId StructuralTagReader::json_schema(FormatFields& fields, const Words& /*stops*/) {
  const Json* schema = fields.require("json_schema");
  const Json* style = fields.optional("style");
  if (style != nullptr && *style != "json") errors_.unsupported(fields.at("style"), "a style that is not \"json\"");
  if (fields.boolean("any_order")) errors_.unsupported(fields.at("any_order"), "any order of properties");
  return schema == nullptr ? 0 : source("json_schema", schema->dump(), fields.at("json_schema"));
}

ExpressionId StructuralTagReader::any_text(FormatFields& fields, const Words& stops) {
  const Words forbidden = joined(words_of(fields.strings("excludes", 0)), stops);
  const auto most = fields.integer("max_chars");
  if (most && (*most < 0 || *most > meter_.limits().repeat)) {
    errors_.invalid(fields.at("max_chars"), fmt::format("must be from 0 to {}", meter_.limits().repeat));
  }
  if (fields.optional("max_tokens") != nullptr) {
    errors_.unsupported(fields.at("max_tokens"), "a limit in tokens");
  }
  if (errors_.any()) return 0;
  return automaton(text_without(forbidden, most.value_or(-1), meter_), fields.pointer());
}

std::vector<ExpressionId> StructuralTagReader::elements(FormatFields& fields, const Words& stops) {
  std::vector<ExpressionId> out;
  for (const Json* one : fields.list("elements", 1)) {
    out.push_back(format(*one, fmt::format("{}/{}", fields.at("elements"), out.size()), stops));
    if (errors_.any()) return {};
  }
  return out;
}

ExpressionId StructuralTagReader::sequence(FormatFields& fields, const Words& stops) {
  return to_.sequence(elements(fields, stops));
}

ExpressionId StructuralTagReader::choice(FormatFields& fields, const Words& stops) {
  return to_.choice(elements(fields, stops));
}

ExpressionId StructuralTagReader::content(FormatFields& fields, const Words& stops) {
  const Json* inside = fields.require("content");
  return inside == nullptr ? 0 : format(*inside, fields.at("content"), stops);
}

ExpressionId StructuralTagReader::repeat(FormatFields& fields, const Words& stops) {
  const ExpressionId inside = content(fields, stops);
  fields.require("min");
  fields.require("max");
  const auto least = fields.integer("min"), most = fields.integer("max");
  if (!least || !most || errors_.any()) return 0;
  const std::int64_t limit = meter_.limits().repeat;
  if (*least < 0 || *least > limit) {
    errors_.invalid(fields.at("min"), fmt::format("must be from 0 to {}", limit));
  } else if (*most != -1 && (*most < *least || *most > limit)) {
    errors_.invalid(fields.at("max"), fmt::format("must be -1, or from min to {}", limit));
  }
  return errors_.any() ? 0 : to_.repeat(inside, *least, *most);
}

}  // namespace millrace::grammar
