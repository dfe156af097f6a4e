#pragma once

#include <string>
#include <string_view>

namespace millrace {

// Converts JSON as Python's json module and other servers write it to strict JSON:
//   NaN, Infinity, -Infinity, 1e400    {"__float__": "NaN"} and so on, the notation of Transformers 5
//   an integer outside 64 bits         the same digits with ".0": a float
//   "\ud800" without its other half    "\ufffd"
//   a byte order mark in front         removed
// Everything else is unchanged, valid or not. For files of models and replies of other servers, after a parser has
// rejected them, so that valid files cost nothing. Never for requests, which must be strict. Linear in the text,
// without recursion.
std::string strict_json(std::string_view text);

// The key of the object that stands for a float without a JSON number.
inline constexpr std::string_view kFloatKey = "__float__";

}  // namespace millrace
