#include "grammar/json_schema/decimal.h"

#include <fmt/format.h>

#include <cstdlib>

namespace millrace::grammar::json_schema {
namespace {

// "12.5e-3" -> digits "125", and where the point stands: 2 - 3.
Decimal read(std::string_view text) {
  Decimal made;
  if (text.starts_with('-')) {
    made.negative = true;
    text.remove_prefix(1);
  }
  std::int64_t exponent = 0;
  if (const auto at = text.find_first_of("eE"); at != std::string_view::npos) {
    exponent = std::atoll(std::string(text.substr(at + 1)).c_str());
    text = text.substr(0, at);
  }
  std::string digits(text.substr(0, text.find('.')));
  std::int64_t point = static_cast<std::int64_t>(digits.size()) + exponent;
  if (const auto at = text.find('.'); at != std::string_view::npos) digits += text.substr(at + 1);
  if (point < 0) {
    digits.insert(0, static_cast<std::size_t>(-point), '0');
    point = 0;
  }
  const auto split = static_cast<std::size_t>(point);
  if (digits.size() < split) digits.resize(split, '0');
  made.whole = digits.substr(0, split);
  made.fraction = digits.substr(split);
  made.whole.erase(0, std::min(made.whole.find_first_not_of('0'), made.whole.size()));
  made.fraction.resize(made.fraction.find_last_not_of('0') + 1);
  if (made.zero()) made.negative = false;
  return made;
}

std::strong_ordering by_size(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() <=> b.whole.size();
  if (a.whole != b.whole) return a.whole <=> b.whole;
  return a.fraction <=> b.fraction;
}

}  // namespace

Decimal Decimal::of(const nlohmann::ordered_json& number) {
  if (number.is_number_unsigned()) return read(std::to_string(number.get<std::uint64_t>()));
  if (number.is_number_integer()) return read(std::to_string(number.get<std::int64_t>()));
  return read(fmt::format("{}", number.get<double>()));
}

Decimal Decimal::negated() const {
  Decimal made = *this;
  made.negative = !negative && !zero();
  return made;
}

std::optional<std::int64_t> Decimal::scaled(std::size_t places, std::int64_t most) const {
  if (fraction.size() > places) return std::nullopt;
  std::int64_t value = 0;
  for (const char digit : whole + fraction + std::string(places - fraction.size(), '0')) {
    value = value * 10 + (digit - '0');
    if (value > most) return std::nullopt;
  }
  return value;
}

std::string Decimal::text() const {
  return (negative ? "-" : "") + (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction);
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (negative != other.negative) return negative ? std::strong_ordering::less : std::strong_ordering::greater;
  return negative ? by_size(other, *this) : by_size(*this, other);
}

}  // namespace millrace::grammar::json_schema
