#pragma once

#include <string>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// A report as one table (RFC 4180 with lines that end in "\n"): the requests of `serve`, the points of `sweep`, the
// rounds of `compare` and `peers` with a line for each metric. "" for another schema. null is an empty field.
std::string csv_of(const Json& report);

}  // namespace millrace::loadtest::report
