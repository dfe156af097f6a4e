#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace millrace::grammar::json_schema {

using Json = nlohmann::ordered_json;

// Kinds of value, as bits.
using Types = std::uint8_t;
inline constexpr Types kNull = 1, kFalse = 2, kTrue = 4, kInteger = 8, kFraction = 16, kString = 32, kArray = 64,
                       kObject = 128;
inline constexpr Types kBoolean = kFalse | kTrue, kNumber = kInteger | kFraction, kAnyType = 255;

}  // namespace millrace::grammar::json_schema
