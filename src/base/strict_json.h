#pragma once

#include <string>
#include <string_view>

namespace millrace {

// JSON as Python's json module and other servers write and read it, as strict JSON that every parser takes:
//   NaN, Infinity, -Infinity, 1e400    {"__float__": "NaN"} and so on, the spelling of Transformers 5
//   an integer outside 64 bits         the same digits with ".0": a float
//   "\ud800" without its other half    "\ufffd"
//   a byte order mark in front         gone
// Everything else stays, valid or not. For files of models and replies of other servers, after a parser refused them as
// they are: good files pay nothing. Never for requests, which are strict. Linear in the text, without recursion.
std::string strict_json(std::string_view text);

// The key under which a float that JSON has no number for is spelled.
inline constexpr std::string_view kFloatKey = "__float__";

}  // namespace millrace
