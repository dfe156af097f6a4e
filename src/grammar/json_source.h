#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::grammar {

// Limit of nested objects and lists, since reading and writing JSON is recursive.
inline constexpr int kMaxJsonDepth = 512;

// Parses JSON that is a source or a part of one; properties keep their order. kInvalidArgument if it is malformed,
// deeper than kMaxJsonDepth, or has a key twice in an object, which JSON leaves undefined. `what` begins the message:
// "the JSON schema".
Result<nlohmann::ordered_json> parse_json_source(std::string_view what, const std::string& text);

}  // namespace millrace::grammar
