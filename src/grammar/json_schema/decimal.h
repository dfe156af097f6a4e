#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace millrace::grammar::json_schema {

// A number exactly as it is written: ±whole.fraction, without zeros that say nothing; zero is two empty strings.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;  // digits

  // The number that stands in the JSON. Integers of up to 64 bits come exactly, others as the shortest decimal that
  // reads as the same double (IEEE 754 binary64).
  static Decimal of(const nlohmann::ordered_json& number);

  bool zero() const { return whole.empty() && fraction.empty(); }
  Decimal negated() const;
  // |this| * 10^places as an integer; none where it is none or above `most` (at most 10^17).
  std::optional<std::int64_t> scaled(std::size_t places, std::int64_t most) const;
  std::string text() const;  // as JSON spells it, without an exponent

  bool operator==(const Decimal&) const = default;
  std::strong_ordering operator<=>(const Decimal& other) const;
};

}  // namespace millrace::grammar::json_schema
