#include "grammar/structural_tag/structural_tag_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/regex/character_classes.h"

namespace millrace::grammar {
namespace {

Words words_of(const std::vector<std::string>& texts) {
  Words out;
  for (const std::string& text : texts) {
    if (!text.empty()) out.push_back(characters_of(text));
  }
  return out;
}

Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

StructuralTagReader::StructuralTagReader(Grammar& to, const GrammarSource& source, WorkMeter& meter,
                                         std::vector<std::string>& ignored)
    : to_(to), source_(source), meter_(meter), ignored_(ignored) {}

const std::vector<StructuralTagReader::Kind>& StructuralTagReader::kinds() {
  using Self = StructuralTagReader;
  static const std::vector<Kind> all = {
      {"const_string", &Self::const_string},
      {"json_schema", &Self::json_schema},
      {"grammar", &Self::grammar},
      {"regex", &Self::regex},
      {"any_text", &Self::any_text},
      {"sequence", &Self::sequence},
      {"or", &Self::choice},
      {"optional", &Self::optional},
      {"plus", &Self::plus},
      {"star", &Self::star},
      {"repeat", &Self::repeat},
      {"tag", &Self::tag},
      {"triggered_tags", &Self::triggered_tags},
      {"tags_with_separator", &Self::tags_with_separator},
      {"dispatch", &Self::dispatch},
      {"token", &Self::token},
  };
  return all;
}

Result<ExpressionId> StructuralTagReader::run() {
  const auto json = Json::parse(source_.text, nullptr, false);
  if (json.is_discarded()) return grammar_invalid("the structural tag is not JSON");
  FormatFields fields(json, "", errors_);
  if (const Json* type = fields.optional("type"); type != nullptr && *type != "structural_tag") {
    errors_.invalid("/type", "must be \"structural_tag\"");
  }
  const bool is_legacy = json.is_object() && (json.contains("structures") || json.contains("triggers"));
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
      made = (this->*known->read)(fields, stops);
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
  std::vector<std::string> left_out;
  const auto made = add_source(to_, inside, meter_, left_out);
  for (const std::string& one : left_out) ignored_.push_back(pointer + one);
  if (made) return *made;
  errors_.add(made.error().code, pointer, made.error().message);
  return 0;
}

ExpressionId StructuralTagReader::automaton(Result<CharAutomaton> made, const std::string& pointer) {
  if (made) return to_.automaton(*std::move(made));
  errors_.add(made.error().code, pointer, made.error().message);
  return 0;
}

ExpressionId StructuralTagReader::const_string(FormatFields& fields, const Words& /*stops*/) {
  return to_.bytes(fields.string("value"));
}

ExpressionId StructuralTagReader::json_schema(FormatFields& fields, const Words& /*stops*/) {
  const Json* schema = fields.require("json_schema");
  const Json* style = fields.optional("style");
  if (style != nullptr && *style != "json") errors_.unsupported(fields.at("style"), "a style that is not \"json\"");
  if (fields.boolean("any_order")) errors_.unsupported(fields.at("any_order"), "any order of properties");
  return schema == nullptr ? 0 : source("json_schema", schema->dump(), fields.at("json_schema"));
}

ExpressionId StructuralTagReader::grammar(FormatFields& fields, const Words& /*stops*/) {
  return source("ebnf", fields.string("grammar"), fields.at("grammar"));
}

ExpressionId StructuralTagReader::regex(FormatFields& fields, const Words& /*stops*/) {
  return source("regex", fields.string("pattern"), fields.at("pattern"));
}

ExpressionId StructuralTagReader::any_text(FormatFields& fields, const Words& stops) {
  const Words excluded = words_of(fields.strings("excludes", 0));
  const auto most = fields.integer("max_chars");
  if (most && (*most < 0 || *most > meter_.limits().repeat)) {
    errors_.invalid(fields.at("max_chars"), fmt::format("must be from 0 to {}", meter_.limits().repeat));
  }
  if (fields.optional("max_tokens") != nullptr) {
    errors_.unsupported(fields.at("max_tokens"), "a limit in tokens");
  }
  if (errors_.any()) return 0;
  return automaton(text_without(joined(excluded, stops), most.value_or(-1), meter_), fields.pointer());
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

ExpressionId StructuralTagReader::optional(FormatFields& fields, const Words& stops) {
  return to_.optional(content(fields, stops));
}

ExpressionId StructuralTagReader::plus(FormatFields& fields, const Words& stops) {
  return to_.repeat(content(fields, stops), 1, kUnlimited);
}

ExpressionId StructuralTagReader::star(FormatFields& fields, const Words& stops) {
  return to_.repeat(content(fields, stops), 0, kUnlimited);
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

ExpressionId StructuralTagReader::token(FormatFields& fields, const Words& /*stops*/) {
  const Json* token = fields.require("token");
  if (token == nullptr) return 0;
  if (token->is_number()) errors_.unsupported(fields.at("token"), "a token by its number");
  return to_.special(fields.string("token"));
}

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
  std::vector<ExpressionId> ways;
  for (std::size_t i = 0; i < all.size() && !errors_.any(); ++i) {
    auto text = text_up_to(words[i], words, forbidden, meter_);
    if (text && text->empty()) {
      errors_.invalid(all[i].pointer, "can never come: an end, an exclude or another trigger comes before");
    }
    const ExpressionId up_to = automaton(std::move(text), all[i].pointer);
    ways.push_back(to_.sequence({up_to, all[i].then}));
  }
  if (errors_.any()) return 0;
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
