#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace millrace::app {

// A value of a report as `inspect` and `show` print it: "-" for null, a string without quotes, anything else as JSON.
// Control characters are escaped (printable()).
std::string shown(const nlohmann::ordered_json& value);

// Prints a line on stdout: the label, padded to 14 columns, and the text, which is printed unchanged.
void print_fact(const char* label, const std::string& text);

}  // namespace millrace::app
