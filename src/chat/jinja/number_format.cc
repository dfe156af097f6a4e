#include "chat/jinja/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace millrace::chat::jinja {
namespace {

std::string magnitude_digits(Integer value, unsigned base) {
  __extension__ using Unsigned = unsigned __int128;
  Unsigned rest = value < 0 ? Unsigned(0) - static_cast<Unsigned>(value) : static_cast<Unsigned>(value);
  std::string digits;
  do {
    digits += "0123456789abcdef"[static_cast<unsigned>(rest % base)];
    rest /= base;
  } while (rest != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string format_integer(Integer value, const NumberStyle& style) {
  const unsigned base = style.type == 'b'                        ? 2
                        : style.type == 'o'                      ? 8
                        : style.type == 'x' || style.type == 'X' ? 16
                                                                 : 10;
  std::string digits = magnitude_digits(value, base);
  if (style.precision > static_cast<int>(digits.size())) {
    digits.insert(0, static_cast<std::size_t>(style.precision) - digits.size(), '0');
  }
  if (style.alternate && base != 10) digits.insert(0, base == 2 ? "0b" : base == 8 ? "0o" : "0x");
  if (style.type == 'X') std::transform(digits.begin(), digits.end(), digits.begin(), ::toupper);
  return digits;
}

std::string format_real(double value, const NumberStyle& style) {
  value = std::fabs(value);
  const bool upper = style.type >= 'A' && style.type <= 'Z';
  if (!std::isfinite(value)) return std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
  const char pattern[] = {'%',
                          style.alternate ? '#' : '.',
                          style.alternate ? '.' : '*',
                          style.alternate ? '*' : style.type,
                          style.alternate ? style.type : '\0',
                          '\0'};
  const int precision = style.precision < 0 ? 6 : style.precision;
  const int size = std::snprintf(nullptr, 0, pattern, precision, value);
  std::string out(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), pattern, precision, value);
  out.pop_back();
  return out;
}

void group_digits(std::string& digits, char separator) {
  std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  while (end > 3) {
    end -= 3;
    digits.insert(end, 1, separator);
  }
}

}  // namespace

bool is_real_type(char type) { return std::string_view("eEfFgG").find(type) != std::string_view::npos; }

std::string format_number(Budget& budget, const Value& number, const NumberStyle& style) {
  if (style.precision > 0) budget.check_string(static_cast<std::size_t>(style.precision));
  budget.scan(static_cast<std::size_t>(std::max(style.precision, 0)));
  std::string out;
  bool negative;
  if (is_real_type(style.type)) {
    negative = std::signbit(number.as_real());
    out = format_real(number.as_real(), style);
  } else {
    const Integer value = number.as_integer().value_or(0);
    negative = value < 0;
    out = format_integer(value, style);
  }
  if (style.grouping) group_digits(out, style.grouping);
  if (negative) {
    out.insert(0, 1, '-');
  } else if (style.sign != '-') {
    out.insert(0, 1, style.sign);
  }
  return out;
}

}  // namespace millrace::chat::jinja
