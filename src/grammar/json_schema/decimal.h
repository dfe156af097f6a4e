#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace millrace::grammar::json_schema {

// A number exactly as written: ±whole.fraction, without redundant zeros; zero is two empty strings.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;  // digits

  // The number of a JSON value. Integers of up to 64 bits are exact; others are the shortest decimal that reads as the
  // same double (IEEE 754 binary64).
  static Decimal of(const nlohmann::ordered_json& number);

  bool zero() const { return whole.empty() && fraction.empty(); }
  Decimal negated() const;
  // |this| * 10^places as an integer; nothing if it is no integer, or above `most` (at most 10^17).
  std::optional<std::int64_t> scaled(std::size_t places, std::int64_t most) const;
  std::string text() const;  // in JSON without an exponent

  bool operator==(const Decimal&) const = default;
  std::strong_ordering operator<=>(const Decimal& other) const;
};

}  // namespace millrace::grammar::json_schema
