#include "grammar/regex/regex_syntax.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "grammar/regex/character_classes.h"
#include "grammar/regex/letter_case.h"
#include "grammar/regex/pattern_text.h"
#include "unicode/code_points.h"

namespace millrace::grammar {
namespace {

using Kind = RegexNode::Kind;
using unicode::CodePointSet;

// One pass with a stack of its own for open groups. After a failure the pattern is at its end.
class RegexParser {
 public:
  RegexParser(std::u32string_view pattern, const WorkLimits& limits, RegexFlags flags)
      : text_(pattern), limits_(limits) {
    open_.push_back({.flags = flags, .at = 0});
  }

  Result<Regex> run() {
    while (!text_.at_end()) term();
    if (open_.size() > 1) text_.invalid(open_.back().at, "the group is not closed");
    if (text_.failed()) return text_.error();
    regex_.root = close_group();
    return std::move(regex_);
  }

 private:
  struct Group {
    std::vector<RegexNodeId> choices, sequence;
    RegexFlags flags;
    std::size_t at;           // where it was opened
    bool repeatable = false;  // a quantifier may follow what stands last
  };

  RegexNodeId add(RegexNode node) {
    for (const RegexNodeId part : node.parts) node.has_anchor |= regex_.at(part).has_anchor;
    regex_.nodes.push_back(std::move(node));
    return static_cast<RegexNodeId>(regex_.nodes.size()) - 1;
  }
  RegexNodeId add_list(Kind kind, std::vector<RegexNodeId> parts) {
    if (parts.size() == 1) return parts[0];
    RegexNode node;
    node.kind = kind;
    node.parts = std::move(parts);
    return add(std::move(node));
  }
  void append(RegexNode node, bool repeatable) {
    const RegexNodeId id = add(std::move(node));
    open_.back().sequence.push_back(id);
    open_.back().repeatable = repeatable;
  }
  void append_set(CodePointSet set) {
    ranges_ += static_cast<std::int64_t>(set.ranges().size());
    if (ranges_ > kRangesOfAState * limits_.states) {
      return text_.fail(ErrorCode::kResourceExhausted, text_.at(), "the classes of the pattern are too large together");
    }
    RegexNode node;
    node.kind = Kind::kCharacter;
    node.set = std::move(set);
    append(std::move(node), true);
  }
  void append_anchor(Kind kind) {
    RegexNode node;
    node.kind = kind;
    node.has_anchor = true;
    append(std::move(node), false);
  }
  void append_literal(char32_t c) {
    const CodePointSet set = one_character(c);
    append_set(open_.back().flags.ignore_case ? with_other_case(set) : set);
  }

  void end_choice() {
    Group& group = open_.back();
    group.choices.push_back(add_list(Kind::kSequence, std::exchange(group.sequence, {})));
    group.repeatable = false;
  }
  RegexNodeId close_group() {
    end_choice();
    const RegexNodeId id = add_list(Kind::kChoice, std::move(open_.back().choices));
    open_.pop_back();
    return id;
  }

  void term() {
    const std::size_t at = text_.at();
    const char32_t c = text_.next();
    switch (c) {
      case '|': return end_choice();
      case '(': return group(at);
      case ')':
        if (open_.size() == 1) return text_.invalid(at, "')' closes no group");
        {
          const RegexNodeId id = close_group();
          open_.back().sequence.push_back(id);
          open_.back().repeatable = true;
        }
        return;
      case '[': return append_set(text_.character_class(at, open_.back().flags.ignore_case));
      case '.': return append_set(open_.back().flags.dot_is_anything ? all_characters() : not_line_end());
      case '^': return append_anchor(Kind::kTextStart);
      case '$': return append_anchor(Kind::kTextEnd);
      case '\\': return escape_outside(at);
      case '*': return repeat(at, 0, -1);
      case '+': return repeat(at, 1, -1);
      case '?': return repeat(at, 0, 1);
      case '{': return brace(at);
      default: return append_literal(c);
    }
  }

  void group(std::size_t at) {
    if (open_.size() > static_cast<std::size_t>(std::max(limits_.depth, 1))) {
      return text_.fail(ErrorCode::kResourceExhausted, at, "groups are nested deeper than {}", limits_.depth);
    }
    RegexFlags flags = open_.back().flags;
    if (text_.take(U"?")) {
      if (text_.take(U"=") || text_.take(U"!") || text_.take(U"<=") || text_.take(U"<!"))
        return text_.unsupported(at, "look-around");
      if (text_.take(U">")) return text_.unsupported(at, "an atomic group");
      if (text_.take(U"P=")) return text_.unsupported(at, "a back-reference");
      if (text_.take(U"P<") || text_.take(U"<")) {
        if (!group_name(at)) return;
      } else if (!text_.take(U":")) {
        if (!group_flags(at, flags)) return;
      }
    }
    open_.push_back({.flags = flags, .at = at});
  }

  bool group_name(std::size_t at) {
    const std::size_t from = text_.at();
    while (!text_.at_end() && !text_.next_is('>')) text_.next();
    if (text_.at() == from || !text_.take('>')) {
      text_.invalid(at, "the name of the group is missing or not closed by '>'");
    }
    return !text_.failed();
  }

  // What follows "(?" up to the ':' that opens a group with these flags (true), or to the ')' after which they hold for
  // the rest of the group around (false).
  bool group_flags(std::size_t at, RegexFlags& flags) {
    bool on = true, any = false;
    for (; !text_.at_end(); any = true) {
      const char32_t c = text_.next();
      if (c == ':') return true;
      if (c == ')' && any) {
        open_.back().flags = flags;
        open_.back().repeatable = false;
        return false;
      }
      if (c == '-' && on) {
        on = false;
      } else if (c == 'i') {
        flags.ignore_case = on;
      } else if (c == 's') {
        flags.dot_is_anything = on;
      } else if (c != 'u' || !on) {
        break;
      }
    }
    text_.fail(ErrorCode::kUnsupported, at,
               "no such group: the flags i, s and u are supported, and (?:...), (?<name>...)");
    return false;
  }

  void repeat(std::size_t at, std::int64_t least, std::int64_t most) {
    Group& group = open_.back();
    if (!group.repeatable) return text_.invalid(at, "there is nothing to repeat");
    if (text_.next_is('+')) return text_.unsupported(at, "a possessive quantifier");
    text_.take('?');  // lazy: the same texts
    RegexNode node;
    node.kind = Kind::kRepeat;
    node.parts = {group.sequence.back()};
    node.least = least;
    node.most = most;
    group.sequence.pop_back();
    append(std::move(node), false);
  }

  // {n}, {n,} and {n,m}; any other brace is itself.
  void brace(std::size_t at) {
    if (text_.next_is(',') && text_.digit_ahead(1)) {
      return text_.invalid(at, "{{,m}} reads differently in Python and JavaScript: write {{0,m}}");
    }
    const std::size_t back = text_.at();
    const std::optional<std::int64_t> least = text_.number();
    std::optional<std::int64_t> most = least;
    if (least && text_.take(',')) most = text_.number().value_or(-1);
    if (!least || !text_.take('}')) {
      text_.go_back(back);
      return append_literal('{');
    }
    if (*least > limits_.repeat || *most > limits_.repeat) {
      return text_.fail(ErrorCode::kResourceExhausted, at, "a count is larger than {}", limits_.repeat);
    }
    if (*most >= 0 && *least > *most) return text_.invalid(at, "the counts {} and {} are out of order", *least, *most);
    repeat(at, *least, *most);
  }

  void escape_outside(std::size_t at) {
    if (text_.take('A')) return append_anchor(Kind::kTextStart);
    if (text_.take('z') || text_.take('Z')) return append_anchor(Kind::kTextEnd);
    if (text_.next_is('b') || text_.next_is('B')) return text_.unsupported(at, "a word boundary");
    if (text_.next_is('k') || (text_.digit_ahead(0) && !text_.next_is('0'))) {
      return text_.unsupported(at, "a back-reference");
    }
    CodePointSet set;
    if (const auto character = text_.escape(at, set)) return append_literal(*character);
    append_set(std::move(set));
  }

  PatternText text_;
  const WorkLimits& limits_;
  std::vector<Group> open_;
  Regex regex_;
  std::int64_t ranges_ = 0;  // of all classes
};

}  // namespace

Result<Regex> parse_regex(std::string_view pattern, const WorkLimits& limits, RegexFlags flags) {
  if (!unicode::is_valid_utf8(pattern)) return grammar_invalid("the regex is not valid UTF-8");
  const std::u32string characters = characters_of(pattern);
  return RegexParser(characters, limits, flags).run();
}

}  // namespace millrace::grammar
