// The formats of a structural tag in which tags stand, and what text turns to.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/regex/character_classes.h"
#include "grammar/structural_tag/structural_tag_reader.h"

namespace millrace::grammar {

// A string, or an object of type "token"; `text` becomes its characters.
ExpressionId StructuralTagReader::marker(const Json& value, const std::string& pointer, std::string& text) {
  if (value.is_string()) {
    text = value.get<std::string>();
    return to_.bytes(text);
  }
  FormatFields fields(value, pointer, errors_);
  if (fields.string("type") != "token") errors_.invalid(pointer, "must be a string or of type \"token\"");
  const ExpressionId made = token(fields, {});
  fields.close();
  if (!errors_.any()) text = fields.string("token");
  return made;
}

StructuralTagReader::Tag StructuralTagReader::read_tag(FormatFields& fields) {
  Tag made{.begin = "", .pointer = fields.pointer(), .begins_with_token = false, .rest = 0, .whole = 0};
  const Json* begin = fields.require("begin");
  const Json* end = fields.require("end");
  const Json* inside = fields.require("content");
  if (errors_.any()) return made;
  made.begins_with_token = !begin->is_string();
  const ExpressionId opening = marker(*begin, fields.at("begin"), made.begin);
  std::vector<const Json*> ends = {end};
  if (end->is_array()) ends = fields.list("end", 1);
  std::vector<std::string> texts;
  std::vector<ExpressionId> endings;
  for (const Json* one : ends) {
    texts.emplace_back();
    const std::string at = end->is_array() ? fmt::format("{}/{}", fields.at("end"), endings.size()) : fields.at("end");
    endings.push_back(marker(*one, at, texts.back()));
  }
  const bool is_plain_text = inside->is_object() && inside->value("type", Json()) == "any_text" && inside->size() == 1;
  const bool all_strings = std::ranges::all_of(ends, [](const Json* one) { return one->is_string() && *one != ""; });
  ExpressionId rest = 0;
  if (errors_.any()) return made;
  if (is_plain_text && all_strings) {  // exactly what comes before the first end
    rest = automaton(text_until(words_of(texts), meter_), fields.pointer());
  } else {
    const ExpressionId body = format(*inside, fields.at("content"), words_of(texts));
    rest = to_.sequence({body, to_.choice(std::move(endings))});
  }
  made.rest = to_.named("tag", rest);
  made.whole = to_.sequence({opening, made.rest});
  return made;
}

ExpressionId StructuralTagReader::tag(FormatFields& fields, const Words& /*stops*/) { return read_tag(fields).whole; }

std::vector<StructuralTagReader::Tag> StructuralTagReader::read_tags(FormatFields& fields) {
  std::vector<Tag> out;
  for (const Json* one : fields.list("tags", 1)) {
    if (errors_.any()) break;
    FormatFields inside(*one, fmt::format("{}/{}", fields.at("tags"), out.size()), errors_);
    const Json* type = inside.optional("type");
    if (type != nullptr && *type != "tag") errors_.invalid(inside.at("type"), "must be \"tag\"");
    out.push_back(read_tag(inside));
    inside.close();
  }
  return out;
}

ExpressionId StructuralTagReader::tags_with_separator(FormatFields& fields, const Words& /*stops*/) {
  const std::vector<Tag> tags = read_tags(fields);
  const ExpressionId separator = to_.bytes(fields.string("separator"));
  const bool at_least_one = fields.boolean("at_least_one"), once = fields.boolean("stop_after_first");
  std::vector<ExpressionId> wholes;
  for (const Tag& one : tags) wholes.push_back(one.whole);
  const ExpressionId one = to_.named("tags", to_.choice(std::move(wholes)));
  const ExpressionId more = to_.repeat(to_.sequence({separator, one}), 0, kUnlimited);
  const ExpressionId all = once ? one : to_.sequence({one, more});
  return at_least_one ? all : to_.optional(all);
}

// Of each trigger what its tags leave to follow it.
std::vector<StructuralTagReader::Switch> StructuralTagReader::switches(const std::vector<Tag>& tags,
                                                                       const std::vector<std::string>& triggers,
                                                                       const FormatFields& fields) {
  std::vector<std::vector<ExpressionId>> followers(triggers.size());
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i].begins_with_token) errors_.unsupported(tags[i].pointer + "/begin", "a token as what text may turn to");
    std::size_t found = 0;
    for (std::size_t k = 0; k < triggers.size(); ++k) {
      if (!tags[i].begin.starts_with(triggers[k])) continue;
      ++found;
      followers[k].push_back(to_.sequence({to_.bytes(tags[i].begin.substr(triggers[k].size())), tags[i].rest}));
    }
    if (found != 1) {
      errors_.invalid(tags[i].pointer + "/begin", fmt::format("begins with {} of the triggers; it must be one", found));
    }
  }
  std::vector<Switch> out;
  for (std::size_t k = 0; k < triggers.size(); ++k) {
    out.push_back({triggers[k], fmt::format("{}/{}", fields.at("triggers"), k), to_.choice(std::move(followers[k]))});
  }
  return out;
}

ExpressionId StructuralTagReader::switched_text(const std::vector<Switch>& all, const Words& forbidden,
                                                Switching switching) {
  Words words;
  for (const Switch& one : all) words.push_back(characters_of(one.word));
  if (errors_.any()) return 0;
  auto texts = texts_up_to(words, forbidden, meter_);
  if (!texts) {
    errors_.add(texts.error().code, all[0].pointer, texts.error().message);
    return 0;
  }
  std::vector<ExpressionId> ways;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((*texts)[i].empty()) {
      errors_.invalid(all[i].pointer, "can never come: an end, an exclude or another trigger comes before");
    }
    ways.push_back(to_.sequence({to_.automaton(std::move((*texts)[i])), all[i].then}));
  }
  const ExpressionId way = to_.choice(std::move(ways));
  const ExpressionId text = automaton(text_without(joined(words, forbidden), -1, meter_), all[0].pointer);
  if (switching == Switching::kOnce) return to_.choice({way, text});
  return to_.sequence({to_.repeat(way, 0, kUnlimited), text});
}

ExpressionId StructuralTagReader::triggered_tags(FormatFields& fields, const Words& stops) {
  const auto triggers = fields.strings("triggers", 1);
  const std::vector<Tag> tags = read_tags(fields);
  const Words forbidden = joined(words_of(fields.strings("excludes", 0)), stops);
  const bool at_least_one = fields.boolean("at_least_one"), once = fields.boolean("stop_after_first");
  if (errors_.any()) return 0;
  const auto all = switches(tags, triggers, fields);
  std::vector<ExpressionId> wholes;
  for (const Tag& one : tags) wholes.push_back(one.whole);
  const ExpressionId first = to_.choice(std::move(wholes));
  if (at_least_one && once) return first;
  const ExpressionId text = switched_text(all, forbidden, once ? Switching::kOnce : Switching::kAnyNumber);
  return at_least_one ? to_.sequence({first, text}) : text;
}

ExpressionId StructuralTagReader::dispatch(FormatFields& fields, const Words& stops) {
  std::vector<Switch> all;
  for (const Json* one : fields.list("rules", 1)) {
    const std::string at = fmt::format("{}/{}", fields.at("rules"), all.size());
    if (!one->is_array() || one->size() != 2 || !(*one)[0].is_string() || (*one)[0] == "") {
      errors_.invalid(at, "must be a list of a string that is not empty and a format");
    }
    if (errors_.any()) return 0;
    all.push_back({(*one)[0].get<std::string>(), at + "/0", format((*one)[1], at + "/1", stops)});
  }
  const Words forbidden = joined(words_of(fields.strings("excludes", 0)), stops);
  const bool loops = fields.optional("loop") == nullptr || fields.boolean("loop");
  if (errors_.any()) return 0;
  return switched_text(all, forbidden, loops ? Switching::kAnyNumber : Switching::kOnce);
}

// {"structures": [{"begin", "schema", "end"}], "triggers": [...]}: triggered tags that hold JSON.
ExpressionId StructuralTagReader::legacy(FormatFields& fields) {
  const auto triggers = fields.strings("triggers", 1);
  std::vector<Tag> tags;
  for (const Json* one : fields.list("structures", 1)) {
    FormatFields inside(*one, fmt::format("/structures/{}", tags.size()), errors_);
    const std::string begin = inside.string("begin"), end = inside.string("end");
    const Json* schema = inside.require("schema");
    inside.close();
    if (errors_.any()) return 0;
    const ExpressionId json = source("json_schema", schema->dump(), inside.at("schema"));
    const ExpressionId rest = to_.named("tag", to_.sequence({json, to_.bytes(end)}));
    tags.push_back({begin, inside.pointer(), false, rest, to_.sequence({to_.bytes(begin), rest})});
  }
  if (errors_.any()) return 0;
  return switched_text(switches(tags, triggers, fields), {}, Switching::kAnyNumber);
}

}  // namespace millrace::grammar
