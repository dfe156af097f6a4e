#include "grammar/grammar_text/grammar_text.h"

#include <algorithm>

#include "grammar/char_automaton.h"
#include "grammar/regex/character_classes.h"
#include "unicode/code_points.h"

namespace millrace::grammar {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; }

}  // namespace

GrammarText::GrammarText(std::string_view text, std::vector<std::string_view> comments, const WorkLimits& limits)
    : text_(text), comments_(std::move(comments)), limits_(limits) {
  if (!unicode::is_valid_utf8(text)) fail("the grammar is not valid UTF-8");
}

void GrammarText::fail_as(ErrorCode code, int line, std::string message) {
  if (!error_) error_ = make_error(code, "grammar", "line {}: {}", line, message);
}

void GrammarText::unsupported(std::string_view what) {
  fail_as(ErrorCode::kUnsupported, place_.line, fmt::format("{} cannot be said in a grammar", what));
}

void GrammarText::unexpected() {
  if (at_end()) return fail("the grammar ends too early");
  fail("unexpected '{}'", rest().substr(0, unicode::code_point_at(text_, place_.at).size));
}

void GrammarText::keep(const Error& error) { fail_as(error.code, place_.line, error.message); }

char GrammarText::peek(std::size_t ahead) const noexcept {
  return place_.at + ahead < text_.size() ? text_[place_.at + ahead] : '\0';
}

void GrammarText::advance(std::size_t bytes) {
  const std::string_view passed = text_.substr(place_.at, bytes);
  place_.line += static_cast<int>(std::ranges::count(passed, '\n'));
  place_.at += passed.size();
}

bool GrammarText::take(std::string_view word) {
  if (failed() || !rest().starts_with(word)) return false;
  advance(word.size());
  return true;
}

void GrammarText::skip_spaces() {
  while (!at_end()) {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      advance(1);
      continue;
    }
    const bool comment =
        std::ranges::any_of(comments_, [&](std::string_view begin) { return rest().starts_with(begin); });
    if (!comment) return;
    advance(std::min(rest().find('\n'), rest().size()));
  }
}

void GrammarText::skip_lines() {
  do {
    skip_spaces();
  } while (take("\n"));
}

std::string_view GrammarText::name() {
  std::size_t size = 0;
  while (is_name(peek(size))) ++size;
  const std::string_view found = text_.substr(std::min(place_.at, text_.size()), size);
  advance(size);
  return found;
}

std::optional<std::int64_t> GrammarText::number() {
  if (at_end() || !is_digit(peek())) return std::nullopt;
  std::int64_t value = 0;
  for (; is_digit(peek()); advance(1)) {
    if (value <= limits_.repeat) value = value * 10 + (peek() - '0');
  }
  if (value > limits_.repeat) {
    fail_as(ErrorCode::kResourceExhausted, place_.line, fmt::format("a count is larger than {}", limits_.repeat));
  }
  return value;
}

Counts GrammarText::checked(Counts counts) {
  if (counts.most >= 0 && counts.least > counts.most) {
    fail("the counts {} and {} are out of order", counts.least, counts.most);
  }
  return counts;
}

std::optional<Counts> GrammarText::counts() {
  skip_spaces();
  const auto least = number();
  skip_spaces();
  std::optional<std::int64_t> most = least;
  if (take(",")) {
    skip_spaces();
    most = number();
    if (!least && !most) return std::nullopt;
    if (!most) most = -1;
    skip_spaces();
  }
  if (!most || !take("}")) return std::nullopt;
  return checked({.least = least.value_or(0), .most = *most});
}

char32_t GrammarText::escape() {
  if (at_end()) {
    fail("a backslash ends the grammar");
    return 0;
  }
  const char c = peek();
  advance(1);
  const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits == 0) {
    if (const auto control = control_escape(static_cast<char32_t>(c))) return *control;
    if (c == '0' && !is_digit(peek())) return 0;
    if (is_letter(c) || is_digit(c) || c == '\n') fail("there is no escape \\{}", c);
    return static_cast<char32_t>(c);  // more bytes of a character would be read as the next one: see character()
  }
  char32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const auto digit = hex_digit(static_cast<unsigned char>(peek()));
    if (!digit || (value = value * 16 + *digit) > kLastCodePoint) {
      fail("\\{} is not followed by the {} hexadecimal digits of a code point", c, digits);
      return 0;
    }
    advance(1);
  }
  if (value >= kFirstSurrogate && value <= kLastSurrogate) fail("\\{} of a surrogate is no character", c);
  return value;
}

char32_t GrammarText::character(bool escapes) {
  if (escapes && peek() == '\\' && static_cast<unsigned char>(peek(1)) < 0x80) {
    advance(1);
    return escape();
  }
  if (escapes && peek() == '\\') advance(1);  // of a character beyond ASCII: itself
  const unicode::CodePoint next = unicode::code_point_at(text_, place_.at);
  advance(next.size);
  return next.value;
}

std::string GrammarText::quoted() {
  const int opened = place_.line;
  std::string out;
  while (!at_end() && peek() != '"' && peek() != '\n') unicode::append_utf8(out, character());
  if (!take("\"")) fail_as(ErrorCode::kInvalidArgument, opened, "a string is not closed");
  return out;
}

std::string GrammarText::until_end(char end) {
  const int opened = place_.line;
  std::string out;
  while (!at_end() && peek() != end && peek() != '\n') {
    if (peek() == '\\' && place_.at + 1 < text_.size()) {
      out += peek();
      advance(1);
    }
    out += peek();
    advance(1);
  }
  if (!take(std::string_view(&end, 1))) {
    fail_as(ErrorCode::kInvalidArgument, opened, fmt::format("the '{}' that closes is missing", end));
  }
  return out;
}

bool GrammarText::enter() {
  if (++depth_ <= limits_.depth) return true;
  fail_as(ErrorCode::kResourceExhausted, place_.line, fmt::format("groups are nested deeper than {}", limits_.depth));
  return false;
}

}  // namespace millrace::grammar
