#include "chat/jinja/number_parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

std::string_view trimmed(std::string_view text) {
  std::size_t from = text.size(), to = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    if (is_space(next_code_point(text, i))) continue;
    from = std::min(from, start);
    to = i;
  }
  return from < to ? text.substr(from, to - from) : std::string_view();
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

// Underscores may stand between digits only. False if one stands elsewhere.
bool remove_underscores(std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    if (i == 0 || i + 1 == text.size() || digit_value(text[i - 1]) > 35 || digit_value(text[i + 1]) > 35) return false;
  }
  std::erase(text, '_');
  return true;
}

}  // namespace

std::optional<Integer> parse_integer(std::string_view text, int base) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == marked || base == 0)) {
      base = marked;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  if (base == 0) base = 10;
  std::string digits(text);
  if (digits.empty() || !remove_underscores(digits)) return std::nullopt;
  Integer value = 0;
  for (const char c : digits) {
    if (digit_value(c) >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, Integer(base), &value) ||
        __builtin_add_overflow(value, Integer(digit_value(c)), &value)) {
      fail("integer does not fit 128 bits");
    }
  }
  return negative ? -value : value;
}

std::optional<double> parse_real(std::string_view text) {
  std::string digits(trimmed(text));
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  if (digits.empty() || digits[0] == '-' || digits[0] == '+' || !remove_underscores(digits)) return std::nullopt;
  std::transform(digits.begin(), digits.end(), digits.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  double value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ptr != digits.data() + digits.size() || parsed.ec == std::errc::invalid_argument) return std::nullopt;
  if (digits.find('(') != digits.npos) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) value = digits.find("e-") == digits.npos ? HUGE_VAL : 0.0;
  return negative ? -value : value;
}

}  // namespace millrace::chat::jinja
