// The formats of a structural tag that speak of tokens: those that the vocabulary knows as special, by their text. Free
// text never has any, so what excludes them excludes their characters.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/structural_tag/structural_tag_reader.h"

namespace millrace::grammar {

ExpressionId StructuralTagReader::token(FormatFields& fields, const Words& /*stops*/) {
  const Json* token = fields.require("token");
  if (token == nullptr) return 0;
  if (token->is_number()) errors_.unsupported(fields.at("token"), "a token by its number");
  return to_.special(fields.string("token"));
}

std::vector<std::string> StructuralTagReader::tokens(FormatFields& fields, std::string_view name, std::size_t least) {
  for (const Json* one : fields.list(name, least)) {
    if (one->is_number()) errors_.unsupported(fields.at(name), "a token by its number");
  }
  return fields.strings(name, least);
}

ExpressionId StructuralTagReader::any_tokens(FormatFields& fields, const Words& stops) {
  const Words forbidden = joined(words_of(tokens(fields, "exclude_tokens", 0)), stops);
  if (fields.optional("max_tokens") != nullptr) {
    errors_.unsupported(fields.at("max_tokens"), "a limit in tokens");
  }
  return errors_.any() ? 0 : automaton(text_without(forbidden, -1, meter_), fields.pointer());
}

ExpressionId StructuralTagReader::text_between(std::vector<ExpressionId> ways, const Words& tokens,
                                               const Words& forbidden, Switching switching,
                                               const std::string& pointer) {
  if (errors_.any()) return 0;
  const ExpressionId text = automaton(text_without(joined(tokens, forbidden), -1, meter_), pointer);
  const ExpressionId way = to_.sequence({text, to_.choice(std::move(ways))});
  if (switching == Switching::kOnce) return to_.choice({way, text});
  return to_.sequence({to_.repeat(way, 0, kUnlimited), text});
}

ExpressionId StructuralTagReader::token_triggered_tags(FormatFields& fields, const Words& stops) {
  const auto triggers = tokens(fields, "trigger_tokens", 1);
  const std::vector<Tag> tags = read_tags(fields);
  const Words forbidden = joined(words_of(tokens(fields, "exclude_tokens", 0)), stops);
  const bool at_least_one = fields.boolean("at_least_one"), once = fields.boolean("stop_after_first");
  std::vector<ExpressionId> wholes;
  for (const Tag& one : tags) {
    if (!one.begins_with_token || std::ranges::find(triggers, one.begin) == triggers.end()) {
      errors_.invalid(one.pointer + "/begin", "must be one of the trigger tokens");
    }
    wholes.push_back(one.whole);
  }
  const ExpressionId first = to_.named("tags", to_.choice(std::move(wholes)));
  if (at_least_one && once) return first;
  const ExpressionId text = text_between({first}, words_of(triggers), forbidden,
                                         once ? Switching::kOnce : Switching::kAnyNumber, fields.pointer());
  return at_least_one ? to_.sequence({first, text}) : text;
}

ExpressionId StructuralTagReader::token_dispatch(FormatFields& fields, const Words& stops) {
  std::vector<ExpressionId> ways;
  std::vector<std::string> texts;
  for (const Json* one : fields.list("rules", 1)) {
    const std::string at = fmt::format("{}/{}", fields.at("rules"), ways.size());
    if (!one->is_array() || one->size() != 2 || !(*one)[0].is_string() || (*one)[0] == "") {
      errors_.invalid(at, "must be a list of the text of a token and a format");
    }
    if (errors_.any()) return 0;
    texts.push_back((*one)[0].get<std::string>());
    const ExpressionId then = format((*one)[1], at + "/1", stops);
    ways.push_back(to_.sequence({to_.special(texts.back()), then}));
  }
  const Words forbidden = joined(words_of(tokens(fields, "exclude_tokens", 0)), stops);
  const bool loops = fields.optional("loop") == nullptr || fields.boolean("loop");
  return text_between(std::move(ways), words_of(texts), forbidden, loops ? Switching::kAnyNumber : Switching::kOnce,
                      fields.pointer());
}

}  // namespace millrace::grammar
