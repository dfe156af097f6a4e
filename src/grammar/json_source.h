#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::grammar {

inline constexpr int kMaxJsonDepth = 512;  // of objects and lists; what reads and writes JSON is recursive

// JSON that is a source or a part of one; properties keep their order. kInvalidArgument where it is malformed, deeper
// than kMaxJsonDepth, or has a key twice in an object (which of them counts is nowhere said). `what` begins the
// message: "the JSON schema".
Result<nlohmann::ordered_json> parse_json_source(std::string_view what, const std::string& text);

}  // namespace millrace::grammar
