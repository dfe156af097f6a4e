#include "chat/tools/call_grammar.h"

#include <algorithm>

#include "grammar/language.h"
#include "unicode/code_points.h"

namespace millrace::chat::tools {
namespace {

constexpr std::int64_t kMaxSpace = 8;  // characters

}  // namespace

CallGrammar::Id CallGrammar::space() {
  if (space_ >= 0) return space_;
  unicode::CodePointSet blanks;
  for (const char32_t c : {U' ', U'\n', U'\t'}) blanks.add(c, c);
  return space_ = to_.named("space", to_.repeat(to_.character(std::move(blanks)), 0, kMaxSpace));
}

CallGrammar::Id CallGrammar::until(std::string_view closer) {
  const std::u32string word = code_points(closer);
  // A special token is none of its characters.
  return to_.choice({to_.automaton(grammar::CharAutomaton::until({word})),
                     to_.sequence({to_.automaton(grammar::CharAutomaton::without({word})), to_.special(closer)})});
}

Result<CallGrammar::Id> CallGrammar::text_without(const std::vector<std::string>& words, char not_first) {
  std::vector<std::u32string> points;
  for (const std::string& word : words) points.push_back(code_points(word));
  auto text = grammar::CharAutomaton::without(points);
  if (not_first == 0) return to_.automaton(std::move(text));
  std::vector<grammar::CharAutomaton::State> begun(2);
  for (const char32_t c : {U'\t', U'\n', U'\r', U' '}) begun[0].edges.push_back({c, c, 0});
  const auto first = static_cast<char32_t>(not_first);
  begun[0].edges.push_back({first, first, 1});
  begun[1] = {.accepts = true, .edges = {{0, grammar::kLastCodePoint, 1}}};
  auto others = text.minus(grammar::CharAutomaton(std::move(begun)), meter_);
  if (!others) return others.error();
  return to_.automaton(*std::move(others));
}

Result<CallGrammar::Id> CallGrammar::any(const Spell& spell) {
  std::vector<Id> calls;
  for (const Tool& tool : use_.tools) {
    auto call = spell(tool);
    if (!call) return call;
    calls.push_back(*call);
  }
  return to_.choice(std::move(calls));
}

CallGrammar::Id CallGrammar::several(Id call, Id separator) {
  const Id one = to_.named("call", call);
  if (!use_.parallel) return one;
  return to_.sequence({one, to_.repeat(to_.sequence({separator, one}), 0, grammar::kUnlimited)});
}

Result<CallGrammar::Id> CallGrammar::json(const Json& schema, bool strict, bool object) {
  grammar::GrammarSource source{.language = "json_schema", .text = dumped(schema)};
  source.ignore_unsupported = !strict;
  auto made = grammar::add_source(to_, source, meter_);
  if (made || strict || made.error().code == ErrorCode::kCancelled) return made;
  source.text = object ? R"({"type":"object"})" : "{}";
  to_.note_ignored({""});
  return grammar::add_source(to_, source, meter_);
}

Result<CallGrammar::Id> CallGrammar::arguments(const Tool& tool) {
  if (const auto known = arguments_.find(tool.name); known != arguments_.end()) return known->second;
  const Json any = {{"type", "object"}};
  const std::size_t noted = to_.ignored().size();
  auto made = json(tool.parameters.is_object() && !tool.parameters.empty() ? tool.parameters : any, tool.strict, true);
  to_.put_ignored_below(noted, "/tools/" + tool.name);
  if (!made) {
    Error error = made.error();
    error.message = "tool " + tool.name + ": " + error.message;
    return error;
  }
  return arguments_[tool.name] = to_.named("arguments of " + tool.name, *made);
}

Result<CallGrammar::Id> CallGrammar::json_call(const Tool& tool, std::string_view name, std::string_view arguments) {
  auto values = this->arguments(tool);
  if (!values) return values;
  const auto member = [&](std::string_view key, Id value) {
    return to_.sequence({to_.bytes(json_string(key)), space(), to_.bytes(":"), space(), value});
  };
  const Id first = member(name, to_.bytes(json_string(tool.name))), second = member(arguments, *values);
  const Id comma = to_.sequence({space(), to_.bytes(","), space()});
  return to_.sequence({to_.bytes("{"), space(),
                       to_.choice({to_.sequence({first, comma, second}), to_.sequence({second, comma, first})}),
                       space(), to_.bytes("}")});
}

Result<CallGrammar::Id> CallGrammar::properties(const Tool& tool, Id separator,
                                                const std::function<Result<Id>(const Property&)>& spell, Id otherwise) {
  const Json& schema = tool.parameters;
  const auto listed = schema.is_object() ? schema.find("properties") : schema.end();
  if (!schema.is_object() || listed == schema.end() || !listed->is_object() || listed->empty()) return otherwise;
  const Json required = schema.value("required", Json::array());
  // From the last to the first: what may follow where something stands before it, and where nothing does.
  Id after = to_.bytes(""), first = to_.bytes("");
  std::vector<std::pair<Id, bool>> members;
  for (const auto& [name, shape] : listed->items()) {
    Property property{.name = name, .schema = shape};
    if (property.schema.is_object()) {
      for (const char* definitions : {"$defs", "definitions"}) {
        if (schema.contains(definitions)) property.schema[definitions] = schema[definitions];
      }
    }
    const std::size_t noted = to_.ignored().size();
    auto written = spell(property);
    if (!written) return written;
    to_.put_ignored_below(noted, "/tools/" + tool.name + "/properties/" + name);
    const bool needed = required.is_array() && std::ranges::find(required, Json(name)) != required.end();
    members.emplace_back(*written, needed);
  }
  for (std::size_t i = members.size(); i-- > 0;) {
    const auto [member, needed] = members[i];
    const Id with_separator = to_.sequence({separator, member, after}), alone = to_.sequence({member, after});
    after = to_.named("more", needed ? with_separator : to_.choice({with_separator, after}));
    first = to_.named("properties", needed ? alone : to_.choice({alone, first}));
  }
  return first;
}

Result<CallGrammar::Id> CallGrammar::tagged_value(const Property& property, bool strict, std::string_view closer) {
  const Json& schema = property.schema;
  const Json type = schema.is_object() ? schema.value("type", Json()) : Json();
  const Json values = schema.is_object() ? schema.value("enum", Json()) : Json();
  if (values.is_array() && !values.empty() &&
      std::ranges::all_of(values, [](const Json& value) { return value.is_string(); })) {
    std::vector<Id> texts;
    for (const Json& value : values) texts.push_back(to_.bytes(value.get_ref<const std::string&>()));
    return to_.sequence({to_.choice(std::move(texts)), to_.special(closer)});
  }
  if (type == "string") return until(closer);
  auto made = json(schema, strict, false);
  if (!made) return made;
  return to_.sequence({*made, to_.special(closer)});
}

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const unicode::CodePoint one = unicode::code_point_at(text, at);
    out += one.value;
    at += one.size;
  }
  return out;
}

}  // namespace millrace::chat::tools
