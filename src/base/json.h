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

// Parses a request's body strictly (RFC 8259). kInvalidArgument for invalid JSON or UTF-8, repeated keys, numbers
// beyond double, and anything beyond JsonLimits. Linear in the text; uses no recursion.
Result<Json> parse_json(std::string_view text);

// Number of code points of UTF-8 text, by which JSON Schema measures strings.
std::size_t characters(std::string_view text) noexcept;

// The text as a JSON string with quotes; invalid UTF-8 becomes U+FFFD. Never throws.
std::string json_string(std::string_view text);
// Compact JSON, with invalid UTF-8 replaced by U+FFFD.
std::string dumped(const Json& value);

}  // namespace millrace
