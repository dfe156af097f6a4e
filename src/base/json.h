#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  static constexpr int kDepth = 64;
  static constexpr std::size_t kKeys = 1024;  // of one object
};

// A request's body, strictly (RFC 8259): kInvalidArgument for what is no JSON, for bytes that are no UTF-8, for a key
// that comes twice, for numbers that no double holds, and beyond JsonLimits. Linear in the text; the stack stays flat.
Result<Json> parse_json(std::string_view text);

// Code points of UTF-8 text, as JSON Schema counts the length of a string.
std::size_t characters(std::string_view text) noexcept;

// The text as a JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. Never throws.
std::string json_string(std::string_view text);
// Compact, under the same rule.
std::string dumped(const Json& value);

}  // namespace millrace
