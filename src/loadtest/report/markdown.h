#pragma once

#include <string>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// A report as tables of GitHub's Markdown. "" for a schema that is none of serve, sweep, compare and peers.
std::string markdown_of(const Json& report);

}  // namespace millrace::loadtest::report
