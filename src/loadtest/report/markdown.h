#pragma once

#include <string>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// A report as tables in GitHub's Markdown. "" for a schema other than serve, sweep, compare and peers.
std::string markdown_of(const Json& report);

}  // namespace millrace::loadtest::report
