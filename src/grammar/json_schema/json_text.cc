#include "grammar/json_schema/json_text.h"

namespace millrace::grammar::json_schema {
namespace {

unicode::CodePointSet characters(std::string_view ranges) {  // "09" is 0 to 9
  unicode::CodePointSet set;
  for (std::size_t i = 0; i < ranges.size(); i += 2) {
    set.add(static_cast<char32_t>(ranges[i]), static_cast<char32_t>(ranges[i + 1]));
  }
  return set;
}

}  // namespace

ExpressionId JsonText::space() {
  if (space_ >= 0) return space_;
  if (white_space_ != GrammarSource::WhiteSpace::kFlexible) return space_ = grammar_.bytes("");
  const ExpressionId one = grammar_.character(characters("  \t\t\n\n\r\r"));
  return space_ = grammar_.named("json_space", grammar_.repeat(one, 0, GrammarSource::kMaxSpaces));
}

ExpressionId JsonText::comma() {
  if (comma_ >= 0) return comma_;
  if (white_space_ == GrammarSource::WhiteSpace::kSpaced) return comma_ = grammar_.bytes(", ");
  if (white_space_ == GrammarSource::WhiteSpace::kCompact) return comma_ = grammar_.bytes(",");
  return comma_ = grammar_.sequence({space(), grammar_.bytes(","), space()});
}

ExpressionId JsonText::colon() {
  if (colon_ >= 0) return colon_;
  if (white_space_ == GrammarSource::WhiteSpace::kSpaced) return colon_ = grammar_.bytes(": ");
  if (white_space_ == GrammarSource::WhiteSpace::kCompact) return colon_ = grammar_.bytes(":");
  return colon_ = grammar_.sequence({space(), grammar_.bytes(":"), space()});
}

ExpressionId JsonText::string() {
  if (string_ >= 0) return string_;
  const ExpressionId quote = grammar_.bytes("\"");
  const ExpressionId inside = grammar_.automaton(CharAutomaton::any(), Spelling::kJsonString);
  return string_ = grammar_.named("json_string", grammar_.sequence({quote, inside, quote}));
}

ExpressionId JsonText::integer() {
  if (integer_ >= 0) return integer_;
  const ExpressionId more = grammar_.repeat(grammar_.character(characters("09")), 0, kUnlimited);
  const ExpressionId from_one = grammar_.sequence({grammar_.character(characters("19")), more});
  const ExpressionId whole = grammar_.choice({grammar_.bytes("0"), from_one});
  return integer_ = grammar_.named("json_integer", grammar_.sequence({grammar_.optional(grammar_.bytes("-")), whole}));
}

ExpressionId JsonText::number() {
  if (number_ >= 0) return number_;
  const ExpressionId digits = grammar_.repeat(grammar_.character(characters("09")), 1, kUnlimited);
  const ExpressionId fraction = grammar_.sequence({grammar_.bytes("."), digits});
  const ExpressionId sign = grammar_.optional(grammar_.character(characters("++--")));
  const ExpressionId exponent = grammar_.sequence({grammar_.character(characters("eeEE")), sign, digits});
  return number_ = grammar_.named(
             "json_number", grammar_.sequence({integer(), grammar_.optional(fraction), grammar_.optional(exponent)}));
}

ExpressionId JsonText::value() {
  if (value_ >= 0) return value_;
  const RuleId rule = grammar_.declare("json_value");
  value_ = grammar_.rule(rule);
  grammar_.define(rule, grammar_.choice({object(), array(), string(), number(), grammar_.bytes("true"),
                                         grammar_.bytes("false"), grammar_.bytes("null")}));
  return value_;
}

ExpressionId JsonText::object() {
  if (object_ >= 0) return object_;
  const RuleId rule = grammar_.declare("json_object");
  object_ = grammar_.rule(rule);
  const ExpressionId member = grammar_.sequence({string(), colon(), value()});
  grammar_.define(rule, enclosed("{", list(member, 1, kUnlimited), "}", true));
  return object_;
}

ExpressionId JsonText::array() {
  if (array_ >= 0) return array_;
  const RuleId rule = grammar_.declare("json_array");
  array_ = grammar_.rule(rule);
  grammar_.define(rule, enclosed("[", list(value(), 1, kUnlimited), "]", true));
  return array_;
}

ExpressionId JsonText::name(const std::string& name) { return grammar_.bytes(Json(name).dump()); }

ExpressionId JsonText::exactly(const Json& value) {
  if (value.is_number()) {
    const std::string plain = Decimal::of(value).text(), written = value.dump();
    if (plain == written || plain.size() > 40) return grammar_.bytes(written);
    return grammar_.choice({grammar_.bytes(plain), grammar_.bytes(written)});
  }
  if (!value.is_structured()) return grammar_.bytes(value.dump());
  const char* open = value.is_array() ? "[" : "{";
  const char* close = value.is_array() ? "]" : "}";
  if (value.empty()) return empty(open, close);
  std::vector<ExpressionId> parts;
  for (const auto& [key, one] : value.items()) {
    if (!parts.empty()) parts.push_back(comma());
    if (value.is_object()) parts.insert(parts.end(), {name(key), colon()});
    parts.push_back(exactly(one));
  }
  return enclosed(open, grammar_.sequence(std::move(parts)), close, false);
}

ExpressionId JsonText::enclosed(const char* open, ExpressionId inside, const char* close, bool or_nothing) {
  const ExpressionId padded = grammar_.sequence({inside, space()});
  return grammar_.sequence(
      {grammar_.bytes(open), space(), or_nothing ? grammar_.optional(padded) : padded, grammar_.bytes(close)});
}

ExpressionId JsonText::empty(const char* open, const char* close) {
  return grammar_.sequence({grammar_.bytes(open), space(), grammar_.bytes(close)});
}

ExpressionId JsonText::list(ExpressionId item, std::int64_t least, std::int64_t most) {
  const std::int64_t more = most == kUnlimited ? kUnlimited : most - 1;
  return grammar_.sequence({item, grammar_.repeat(grammar_.sequence({comma(), item}), least - 1, more)});
}

}  // namespace millrace::grammar::json_schema
