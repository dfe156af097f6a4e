#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace millrace::app {

// A value of a report as `inspect` and `show` print it: null is "-", control characters are escaped.
std::string shown(const nlohmann::ordered_json& value);

// A line of a listing on stdout: the label, padded, and the text.
void print_fact(const char* label, const std::string& text);

}  // namespace millrace::app
