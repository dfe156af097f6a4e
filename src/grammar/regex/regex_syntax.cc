#include "grammar/regex/regex_syntax.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "grammar/char_automaton.h"
#include "grammar/regex/character_classes.h"
#include "grammar/regex/letter_case.h"
#include "text/unicode.h"

namespace millrace::grammar {
namespace {

using Kind = RegexNode::Kind;
using text::CodePointSet;

constexpr std::int64_t kRangesOfAState = 16;       // this many ranges of a class cost as much as a state
constexpr std::int64_t kMuch = 1'000'000'000'000;  // counts beyond are all the same to a message

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// One pass with a stack of its own for open groups. A refusal is remembered in error_ and ends the pass.
class RegexParser {
 public:
  RegexParser(std::u32string_view pattern, const WorkLimits& limits, RegexFlags flags)
      : text_(pattern), limits_(limits) {
    open_.push_back({.flags = flags, .at = 0});
  }

  Result<Regex> run() {
    while (!error_ && at_ < text_.size()) term();
    if (!error_ && open_.size() > 1) invalid(open_.back().at, "the group is not closed");
    if (error_) return *std::move(error_);
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

  template <typename... Args>
  void fail(ErrorCode code, std::size_t at, fmt::format_string<Args...> format, Args&&... args) {
    if (error_) return;
    error_ = make_error(code, "grammar", "the regex at position {}: {}", at,
                        fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void invalid(std::size_t at, fmt::format_string<Args...> format, Args&&... args) {
    fail(ErrorCode::kInvalidArgument, at, format, std::forward<Args>(args)...);
  }
  void unsupported(std::size_t at, std::string_view what) {
    fail(ErrorCode::kUnsupported, at, "{} cannot be said in a grammar", what);
  }

  bool next_is(char32_t c, std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() && text_[at_ + ahead] == c;
  }
  bool take(char32_t c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  bool take(std::u32string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

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
      return fail(ErrorCode::kResourceExhausted, at_, "the classes of the pattern are too large together");
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
    const std::size_t at = at_;
    const char32_t c = text_[at_++];
    switch (c) {
      case '|': return end_choice();
      case '(': return group(at);
      case ')':
        if (open_.size() == 1) return invalid(at, "')' closes no group");
        {
          const RegexNodeId id = close_group();
          open_.back().sequence.push_back(id);
          open_.back().repeatable = true;
        }
        return;
      case '[': return append_set(character_class(at));
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
      return fail(ErrorCode::kResourceExhausted, at, "groups are nested deeper than {}", limits_.depth);
    }
    RegexFlags flags = open_.back().flags;
    if (take(U"?")) {
      if (take(U"=") || take(U"!") || take(U"<=") || take(U"<!")) return unsupported(at, "look-around");
      if (take(U">")) return unsupported(at, "an atomic group");
      if (take(U"P=")) return unsupported(at, "a back-reference");
      if (take(U"P<") || take(U"<")) {
        if (!group_name(at)) return;
      } else if (!take(U":")) {
        if (!group_flags(at, flags)) return;
      }
    }
    open_.push_back({.flags = flags, .at = at});
  }

  bool group_name(std::size_t at) {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != '>') ++at_;
    if (at_ == from || !take('>')) invalid(at, "the name of the group is missing or not closed by '>'");
    return !error_;
  }

  // What follows "(?" up to the ':' that opens a group with these flags (true), or to the ')' after which they hold for
  // the rest of the group around (false).
  bool group_flags(std::size_t at, RegexFlags& flags) {
    bool on = true;
    for (; at_ < text_.size(); ++at_) {
      const char32_t c = text_[at_];
      if (c == ':') {
        ++at_;
        return true;
      }
      if (c == ')') {
        if (text_[at_ - 1] == '?') break;
        ++at_;
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
    fail(ErrorCode::kUnsupported, at, "no such group: the flags i, s and u are supported, and (?:...), (?<name>...)");
    return false;
  }

  void repeat(std::size_t at, std::int64_t least, std::int64_t most) {
    Group& group = open_.back();
    if (!group.repeatable) return invalid(at, "there is nothing to repeat");
    if (next_is('+')) return unsupported(at, "a possessive quantifier");
    take('?');  // lazy: the same texts
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
    if (next_is(',') && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
      return invalid(at, "{{,m}} reads differently in Python and JavaScript: write {{0,m}}");
    }
    const std::size_t back = at_;
    const std::optional<std::int64_t> least = number();
    std::optional<std::int64_t> most = least;
    if (least && take(',')) most = number().value_or(-1);
    if (!least || !take('}')) {
      at_ = back;
      return append_literal('{');
    }
    if (*least > limits_.repeat || *most > limits_.repeat) {
      return fail(ErrorCode::kResourceExhausted, at, "a count is larger than {}", limits_.repeat);
    }
    if (*most >= 0 && *least > *most) return invalid(at, "the counts {} and {} are out of order", *least, *most);
    repeat(at, *least, *most);
  }

  std::optional<std::int64_t> number() {
    if (at_ == text_.size() || !is_digit(text_[at_])) return std::nullopt;
    std::int64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      value = std::min<std::int64_t>(value * 10 + (text_[at_] - '0'), kMuch);
    }
    return value;
  }

  void escape_outside(std::size_t at) {
    if (take('A')) return append_anchor(Kind::kTextStart);
    if (take('z') || take('Z')) return append_anchor(Kind::kTextEnd);
    if (next_is('b') || next_is('B')) return unsupported(at, "a word boundary");
    if (next_is('k') || (at_ < text_.size() && text_[at_] >= '1' && text_[at_] <= '9')) {
      return unsupported(at, "a back-reference");
    }
    CodePointSet set;
    if (const auto character = escape(at, set)) return append_literal(*character);
    append_set(std::move(set));
  }

  // What follows a backslash: one character, or none and the set of a class. \u of a surrogate that has no partner is
  // an empty class.
  std::optional<char32_t> escape(std::size_t at, CodePointSet& set) {
    if (at_ == text_.size()) {
      invalid(at, "a backslash ends the pattern");
      return std::nullopt;
    }
    const char32_t c = text_[at_++];
    if (auto known = class_escape(c)) {
      set = *std::move(known);
      return std::nullopt;
    }
    if (const auto control = control_escape(c)) return control;
    if (c == 'p' || c == 'P') {
      set = property_escape(at, c == 'P');
      return std::nullopt;
    }
    if (c == 'x' || c == 'u' || c == 'U') return hex_escape(at, c);
    if (c == '0' && !(at_ < text_.size() && is_digit(text_[at_]))) return U'\0';
    if (c == 'c' && at_ < text_.size() && is_letter(text_[at_])) return text_[at_++] % 32;
    if (c < 0x80 && (is_letter(c) || is_digit(c))) {
      invalid(at, "there is no escape \\{}", static_cast<char>(c));
      return std::nullopt;
    }
    return c;
  }

  std::optional<char32_t> hex_escape(std::size_t at, char32_t kind) {
    std::optional<char32_t> value;
    if (take('{')) {
      const std::size_t from = at_;
      while (at_ < text_.size() && text_[at_] != '}') ++at_;
      value = hex(from, at_ - from);
      if (!take('}')) value = std::nullopt;
    } else {
      const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
      value = hex(at_, digits);
      if (value) at_ += digits;
    }
    if (!value) {
      invalid(at, "\\{} is not followed by the hexadecimal digits of a code point", static_cast<char>(kind));
      return value;
    }
    const auto low = *value >= kFirstSurrogate && *value < 0xDC00 && next_is('\\') && next_is('u', 1) ? hex(at_ + 2, 4)
                                                                                                      : std::nullopt;
    if (low && *low >= 0xDC00 && *low <= kLastSurrogate) {
      at_ += 6;
      return 0x10000 + ((*value - kFirstSurrogate) << 10) + (*low - 0xDC00);
    }
    return value;
  }

  std::optional<char32_t> hex(std::size_t from, std::size_t digits) const {
    if (digits == 0 || from + digits > text_.size()) return std::nullopt;
    char32_t value = 0;
    for (const char32_t c : text_.substr(from, digits)) {
      const auto digit = hex_digit(c);
      if (!digit) return std::nullopt;
      value = value * 16 + *digit;
      if (value > kLastCodePoint) return std::nullopt;
    }
    return value;
  }

  CodePointSet property_escape(std::size_t at, bool negated) {
    std::string name;
    if (take('{')) {
      while (at_ < text_.size() && text_[at_] != '}') text::append_utf8(name, text_[at_++]);
      if (!take('}')) invalid(at, "\\p{{ is not closed");
    } else if (at_ < text_.size()) {
      text::append_utf8(name, text_[at_++]);
    }
    const auto known = properties_.find(name);
    const auto set =
        known != properties_.end() ? known->second : properties_.emplace(name, property(name)).first->second;
    if (!set) {
      fail(ErrorCode::kUnsupported, at, "the property \"{}\" is not known: general categories and Han are", name);
      return {};
    }
    return negated ? all_but(*set) : *set;
  }

  CodePointSet character_class(std::size_t at) {
    const bool negated = take('^');
    if (next_is(']')) {
      invalid(at, "an empty class reads differently in JavaScript and Python: write \\] for a bracket");
      return {};
    }
    CodePointSet set;
    while (!error_ && !take(']')) {
      if (at_ == text_.size()) {
        invalid(at, "the class is not closed");
        break;
      }
      class_item(set);
    }
    if (open_.back().flags.ignore_case) set = with_other_case(set);
    return negated ? all_but(set) : set.intersection(all_characters());
  }

  // One character, class or range of a class, added to the set.
  void class_item(CodePointSet& set) {
    const std::size_t at = at_;
    CodePointSet found;
    const auto first = class_character(found);
    const bool is_range = next_is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
    if (!is_range) {
      if (first) found.add(*first, *first);
      return set.add(found);
    }
    ++at_;
    CodePointSet other;
    const auto last = class_character(other);
    if (error_) return;
    if (!first || !last) return invalid(at, "a class cannot be the end of a range: write \\- for a dash");
    if (*first > *last) return invalid(at, "the ends of the range are out of order");
    set.add(*first, *last);
  }

  std::optional<char32_t> class_character(CodePointSet& set) {
    const std::size_t at = at_;
    const char32_t c = text_[at_++];
    const char32_t after = at_ < text_.size() ? text_[at_] : U'\0';
    if (c == '[' && after == ':') unsupported(at, "a class of POSIX");
    if (c == '&' && after == '&') unsupported(at, "an intersection of classes");
    if (c != '\\') return c;
    if (take('b')) return U'\b';
    return escape(at, set);
  }

  const std::u32string_view text_;
  const WorkLimits& limits_;
  std::size_t at_ = 0;
  std::vector<Group> open_;
  Regex regex_;
  std::map<std::string, std::optional<CodePointSet>> properties_;  // that were asked for
  std::int64_t ranges_ = 0;                                        // of all classes
  std::optional<Error> error_;
};

}  // namespace

Result<Regex> parse_regex(std::string_view pattern, const WorkLimits& limits, RegexFlags flags) {
  if (!text::is_valid_utf8(pattern)) return grammar_invalid("the regex is not valid UTF-8");
  const std::u32string characters = characters_of(pattern);
  return RegexParser(characters, limits, flags).run();
}

}  // namespace millrace::grammar
