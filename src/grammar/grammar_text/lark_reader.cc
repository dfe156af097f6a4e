#include "grammar/grammar_text/lark_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "grammar/grammar_text/lark_terminals.h"
#include "grammar/regex/character_classes.h"
#include "grammar/regex/letter_case.h"
#include "grammar/regex/regex.h"

namespace millrace::grammar {
namespace {

bool is_terminal_name(std::string_view name) {
  const auto letter = name.find_first_not_of('_');
  return letter != name.npos && name[letter] >= 'A' && name[letter] <= 'Z';
}

bool mentions_ignore(std::string_view text) {
  for (std::size_t at = text.find("%ignore"); at != text.npos; at = text.find("%ignore", at + 1)) {
    const std::size_t before = text.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    if (at == 0 || before == text.npos || text[before] == '\n') return true;
  }
  return false;
}

}  // namespace

LarkReader::LarkReader(Grammar& to, const GrammarSource& source, WorkMeter& meter)
    : to_(to), source_(source), meter_(meter), text_(source.text, {"//", "#"}, meter.limits()), rules_(to, text_) {}

Result<ExpressionId> LarkReader::run() {
  std::optional<RuleId> ignored;
  if (mentions_ignore(source_.text)) {
    ignored = to_.declare("%ignore");
    skipped_ = to_.repeat(to_.rule(*ignored), 0, kUnlimited);
  }
  for (text_.skip_lines(); !text_.at_end(); text_.skip_lines()) {
    text_.peek() == '%' ? directive() : definition();
    end_of_line();
  }
  const ExpressionId root = rules_.root("start");
  if (text_.failed()) return text_.error();
  if (!ignored) return root;
  to_.define(*ignored, to_.choice(skippable_));
  return to_.sequence({skipped_, root});
}

ExpressionId LarkReader::reject(std::string_view what) {
  text_.unsupported(what);
  return 0;
}

void LarkReader::end_of_line() {
  text_.skip_spaces();
  if (!text_.at_end() && text_.peek() != '\n') text_.unexpected();
}

void LarkReader::definition() {
  while (text_.take("?") || text_.take("!")) {  // they shape the tree that Lark makes
  }
  const int line = text_.place().line;
  const std::string_view name = text_.name();
  if (name.empty()) return text_.unexpected();
  definition_options();
  if (!text_.take(":")) return text_.fail("expected ':' after the name \"{}\"", name);
  rules_.define(name, line, body(is_terminal_name(name) ? Inside::kTerminal : Inside::kRule));
}

// [capture] and a priority mean nothing here.
void LarkReader::definition_options() {
  text_.skip_spaces();
  if (text_.peek() == '{') text_.unsupported("a template");
  if (text_.peek() == ':' && text_.peek(1) == ':') text_.unsupported("a rule with a parameter (::)");
  if (text_.take("[")) {
    const std::string option = text_.until_end(']');
    if (option != "capture" && !option.starts_with("capture=")) {
      text_.unsupported(fmt::format("the option [{}]", option));
    }
    text_.skip_spaces();
  }
  if (text_.take(".")) {
    text_.take("-");
    if (!text_.number()) text_.fail("expected a priority after '.'");
    text_.skip_spaces();
  }
}

bool LarkReader::definition_ahead() {
  if (text_.at_end() || text_.peek() == '%') return true;
  const GrammarText::Place here = text_.place();
  while (text_.take("?") || text_.take("!")) {
  }
  bool found = !text_.name().empty();
  text_.skip_spaces();
  const std::size_t close = text_.peek() == '['   ? text_.rest().find(']')
                            : text_.peek() == '{' ? text_.rest().find('}')
                                                  : 0;
  if (close != 0 && close < text_.rest().find('\n')) text_.advance(close + 1);
  while (text_.take(".") || text_.take("-") ||
         (text_.peek() >= '0' && text_.peek() <= '9' && text_.take({text_.rest().data(), 1}))) {
  }
  text_.skip_spaces();
  found = found && text_.peek() == ':';
  text_.go_back(here);
  return found;
}

void LarkReader::over_lines_unless_definition() {
  text_.skip_spaces();
  if (text_.peek() != '\n') return;
  const GrammarText::Place here = text_.place();
  text_.skip_lines();
  if (definition_ahead()) text_.go_back(here);
}

void LarkReader::directive() {
  text_.take("%");
  const std::string_view word = text_.name();
  text_.skip_spaces();
  if (word == "ignore") {
    skippable_.push_back(body(Inside::kTerminal));
  } else if (word == "import") {
    import_names();
  } else if (word == "llguidance") {
    const std::string_view options = json_text();
    if (options.find_first_not_of("{} \t\r\n") != options.npos) text_.unsupported("an option of %llguidance");
  } else {
    text_.unsupported(fmt::format("%{}", word));
  }
}

// %import common.NAME, common.NAME -> ALIAS, common (NAME, NAME)
void LarkReader::import_names() {
  if (!text_.take("common")) return text_.unsupported("an import from anywhere but \"common\"");
  text_.skip_spaces();
  if (text_.take(".")) {
    const std::string_view name = text_.name();
    std::string_view as = name;
    text_.skip_spaces();
    if (text_.take("->")) {
      text_.skip_spaces();
      as = text_.name();
    }
    return import_one(name, as);
  }
  if (!text_.take("(")) return text_.unexpected();
  do {
    text_.skip_lines();
    const std::string_view name = text_.name();
    import_one(name, name);
    text_.skip_lines();
  } while (text_.take(","));
  if (!text_.take(")")) text_.unexpected();
}

void LarkReader::import_one(std::string_view name, std::string_view as) {
  const auto pattern = common_terminal(name);
  if (!pattern) return text_.fail("there is no terminal \"{}\" to import from \"common\"", name);
  if (as.empty()) return text_.unexpected();
  const auto made = add_regex(to_, *pattern, RegexMatch::kWhole, meter_);
  if (!made) return text_.keep(made.error());
  rules_.define(as, text_.place().line, *made);
}

ExpressionId LarkReader::body(Inside inside) {
  over_lines_unless_definition();
  return choices(inside);
}

ExpressionId LarkReader::choices(Inside inside) {
  std::vector<ExpressionId> all;
  for (bool more = true; more;) {
    all.push_back(sequence(inside));
    const GrammarText::Place here = text_.place();
    text_.skip_lines();
    more = text_.take("|");
    if (more) {
      over_lines_unless_definition();
    } else {
      text_.go_back(here);
    }
  }
  return all.size() == 1 ? all[0] : to_.choice(std::move(all));
}

ExpressionId LarkReader::sequence(Inside inside) {
  std::vector<ExpressionId> parts;
  while (true) {
    groups_ > 0 ? text_.skip_lines() : text_.skip_spaces();
    const char next = text_.peek();
    if (text_.at_end() || next == '|' || next == ')' || next == ']' || next == '\n') break;
    if (text_.take("->")) {  // a name for the tree
      text_.skip_spaces();
      if (text_.name().empty()) text_.unexpected();
      groups_ > 0 ? text_.skip_lines() : text_.skip_spaces();
      break;
    }
    if (auto fine = meter_.spend(); !fine) text_.keep(fine.error());
    parts.push_back(repeated(atom(inside)));
  }
  return parts.size() == 1 ? parts[0] : to_.sequence(std::move(parts));
}

ExpressionId LarkReader::atom(Inside inside) {
  switch (text_.peek()) {
    case '(':
    case '[': return group(inside);
    case '"': return string(inside);
    case '/': return regex(inside);
    case '<': return special(inside);
    case '%': return json(inside);
    case '@': return reject("a grammar beside this one (@name)");
    case '~': return reject("the negation of a terminal (~)");
    case '&': return reject("the intersection of terminals (&)");
    default: return reference(inside);
  }
}

ExpressionId LarkReader::group(Inside inside) {
  const int line = text_.place().line;
  const bool optional = text_.take("[");
  if (!optional) text_.take("(");
  text_.enter();
  ++groups_;
  const ExpressionId all = choices(inside);
  text_.skip_lines();
  --groups_;
  text_.leave();
  if (!text_.take(optional ? "]" : ")")) {
    text_.fail_as(ErrorCode::kInvalidArgument, line, "the group is not closed");
  }
  return optional ? to_.optional(all) : all;
}

ExpressionId LarkReader::string(Inside inside) {
  text_.take("\"");
  const std::string first = text_.quoted();
  const bool ignores_case = text_.take("i");
  const GrammarText::Place here = text_.place();
  text_.skip_spaces();
  if (text_.take("..")) {
    text_.skip_spaces();
    if (!text_.take("\"")) text_.unexpected();
    const std::u32string from = characters_of(first), to = characters_of(text_.quoted());
    if (from.size() != 1 || to.size() != 1 || from > to) {
      text_.fail("a range is from one character to one that is not before it");
    }
    if (text_.failed()) return 0;
    unicode::CodePointSet set;
    set.add(from[0], to[0]);
    return lexeme(to_.character(set.intersection(all_characters())), inside);
  }
  text_.go_back(here);
  if (!ignores_case) return lexeme(to_.bytes(first), inside);
  std::vector<ExpressionId> letters;
  for (const char32_t letter : characters_of(first))
    letters.push_back(to_.character(with_other_case(one_character(letter))));
  return lexeme(to_.sequence(std::move(letters)), inside);
}

ExpressionId LarkReader::regex(Inside inside) {
  text_.take("/");
  const std::string pattern = text_.until_end('/');
  RegexFlags flags;
  for (; text_.peek() >= 'a' && text_.peek() <= 'z'; text_.advance(1)) {
    const char flag = text_.peek();
    if (flag == 'i') {
      flags.ignore_case = true;
    } else if (flag == 's') {
      flags.dot_is_anything = true;
    } else if (flag != 'u') {
      return reject(fmt::format("the flag '{}' of a regex", flag));
    }
  }
  if (text_.failed()) return 0;
  const auto made = add_regex(to_, pattern, RegexMatch::kWhole, meter_, flags);
  if (!made) {
    text_.keep(made.error());
    return 0;
  }
  return lexeme(*made, inside);
}

ExpressionId LarkReader::special(Inside inside) {
  if (inside == Inside::kTerminal) return reject("a special token inside a terminal");
  text_.take("<");
  if (text_.peek() == '[') return reject("a token by its number");
  return lexeme(to_.special("<" + text_.until_end('>') + ">"), inside);
}

std::string_view LarkReader::json_text() {
  const std::string_view rest = text_.rest();
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) {
      text_.advance(i + 1);
      return rest.substr(0, i + 1);
    }
    if (depth == 0) break;
  }
  text_.fail("expected an object of JSON");
  return {};
}

ExpressionId LarkReader::json(Inside inside) {
  text_.take("%");
  const std::string_view word = text_.name();
  if (word != "json") return reject(fmt::format("%{}", word));
  if (inside == Inside::kTerminal) return reject("%json inside a terminal");
  text_.skip_lines();
  GrammarSource schema = source_;
  schema.language = "json_schema";
  schema.text = json_text();
  if (text_.failed()) return 0;
  const auto made = add_source(to_, schema, meter_);
  if (!made) {
    text_.keep(made.error());
    return 0;
  }
  return lexeme(*made, inside);
}

ExpressionId LarkReader::reference(Inside inside) {
  const std::string_view name = text_.name();
  if (name.empty()) {
    text_.unexpected();
    return 0;
  }
  if (text_.peek() == ':' && text_.peek(1) == ':') return reject("a rule with a parameter (::)");
  const bool is_terminal = is_terminal_name(name);
  if (!is_terminal && inside == Inside::kTerminal) {
    text_.fail("the rule \"{}\" cannot stand in a terminal", name);
  }
  const ExpressionId used = rules_.use(name);
  return is_terminal ? lexeme(used, inside) : used;
}

ExpressionId LarkReader::repeated(ExpressionId part) {
  const GrammarText::Place here = text_.place();
  text_.skip_spaces();
  std::optional<Counts> counts;
  if (text_.take("*")) {
    counts = Counts{.least = 0, .most = kUnlimited};
  } else if (text_.take("+")) {
    counts = Counts{.least = 1, .most = kUnlimited};
  } else if (text_.take("?")) {
    counts = Counts{.least = 0, .most = 1};
  } else if (text_.take("~")) {
    text_.skip_spaces();
    const auto least = text_.number();
    if (!least) return reject("a '~' without a count");
    const auto most = text_.take("..") ? text_.number() : least;
    if (!most) text_.unexpected();
    counts = text_.checked({.least = *least, .most = most.value_or(*least)});
  } else if (text_.take("{")) {
    counts = text_.counts();
    if (!counts) return reject("a template, or what is no count: {n}, {n,} or {n,m},");
  } else {
    text_.go_back(here);
  }
  return counts && !text_.failed() ? to_.repeat(part, counts->least, counts->most) : part;
}

ExpressionId LarkReader::lexeme(ExpressionId terminal, Inside inside) {
  if (inside == Inside::kTerminal || skipped_ < 0 || text_.failed()) return terminal;
  return to_.sequence({terminal, skipped_});
}

}  // namespace millrace::grammar
