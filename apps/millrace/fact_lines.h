#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace millrace::app {

// A report's value as `inspect` and `show` print it: "-" for null, with control characters escaped.
std::string shown(const nlohmann::ordered_json& value);

// Prints a line to stdout: the padded label and the text.
void print_fact(const char* label, const std::string& text);

}  // namespace millrace::app
