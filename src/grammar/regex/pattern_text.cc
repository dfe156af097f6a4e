#include "grammar/regex/pattern_text.h"

#include <algorithm>

#include "grammar/char_automaton.h"
#include "grammar/regex/character_classes.h"
#include "grammar/regex/letter_case.h"
#include "unicode/code_points.h"

namespace millrace::grammar {
namespace {

using unicode::CodePointSet;

constexpr std::int64_t kMuch = 1'000'000'000'000;  // counts beyond are all the same to a message

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool PatternText::digit_ahead(std::size_t ahead) const noexcept {
  return at_ + ahead < text_.size() && is_digit(text_[at_ + ahead]);
}

bool PatternText::take(char32_t c) noexcept {
  if (!next_is(c)) return false;
  ++at_;
  return true;
}

bool PatternText::take(std::u32string_view word) noexcept {
  if (text_.substr(std::min(at_, text_.size()), word.size()) != word) return false;
  at_ += word.size();
  return true;
}

std::optional<std::int64_t> PatternText::number() {
  if (at_ == text_.size() || !is_digit(text_[at_])) return std::nullopt;
  std::int64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
    value = std::min<std::int64_t>(value * 10 + (text_[at_] - '0'), kMuch);
  }
  return value;
}

std::optional<char32_t> PatternText::escape(std::size_t at, CodePointSet& set) {
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

std::optional<char32_t> PatternText::hex_escape(std::size_t at, char32_t kind) {
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
  const auto low =
      *value >= kFirstSurrogate && *value < 0xDC00 && next_is('\\') && next_is('u', 1) ? hex(at_ + 2, 4) : std::nullopt;
  if (low && *low >= 0xDC00 && *low <= kLastSurrogate) {
    at_ += 6;
    return 0x10000 + ((*value - kFirstSurrogate) << 10) + (*low - 0xDC00);
  }
  return value;
}

std::optional<char32_t> PatternText::hex(std::size_t from, std::size_t digits) const {
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

CodePointSet PatternText::property_escape(std::size_t at, bool negated) {
  std::string name;
  if (take('{')) {
    while (at_ < text_.size() && text_[at_] != '}') unicode::append_utf8(name, text_[at_++]);
    if (!take('}')) invalid(at, "\\p{{ is not closed");
  } else if (at_ < text_.size()) {
    unicode::append_utf8(name, text_[at_++]);
  }
  const auto known = properties_.find(name);
  const auto set = known != properties_.end() ? known->second : properties_.emplace(name, property(name)).first->second;
  if (!set) {
    fail(ErrorCode::kUnsupported, at, "the property \"{}\" is not known: general categories and Han are", name);
    return {};
  }
  return negated ? all_but(*set) : *set;
}

CodePointSet PatternText::character_class(std::size_t at, bool ignores_case) {
  const bool negated = take('^');
  if (next_is(']')) {
    invalid(at, "an empty class reads differently in JavaScript and Python: write \\] for a bracket");
    return {};
  }
  CodePointSet set;
  while (!failed() && !take(']')) {
    if (at_ == text_.size()) {
      invalid(at, "the class is not closed");
      break;
    }
    class_item(set);
  }
  if (ignores_case) set = with_other_case(set);
  return negated ? all_but(set) : set.intersection(all_characters());
}

// One character, class or range of a class, added to the set.
void PatternText::class_item(CodePointSet& set) {
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
  if (failed()) return;
  if (!first || !last) return invalid(at, "a class cannot be the end of a range: write \\- for a dash");
  if (*first > *last) return invalid(at, "the ends of the range are out of order");
  set.add(*first, *last);
}

std::optional<char32_t> PatternText::class_character(CodePointSet& set) {
  const std::size_t at = at_;
  const char32_t c = text_[at_++];
  const char32_t after = at_ < text_.size() ? text_[at_] : U'\0';
  if (c == '[' && after == ':') unsupported(at, "a class of POSIX");
  if (c == '&' && after == '&') unsupported(at, "an intersection of classes");
  if (c != '\\') return c;
  if (take('b')) return U'\b';
  return escape(at, set);
}

}  // namespace millrace::grammar
