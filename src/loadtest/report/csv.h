#pragma once

#include <string>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// A report as one table, RFC 4180 with lines that end in "\n": of `serve` its requests, of `sweep` its points, of
// `compare` and `peers` their rounds, a line for each metric. "" for another schema. What is null is an empty field.
std::string csv_of(const Json& report);

}  // namespace millrace::loadtest::report
