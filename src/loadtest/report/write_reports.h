#pragma once

#include <string>
#include <vector>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// Writes a report's other forms: STEM.csv and STEM.md, where STEM is the path without ".html" or ".json". Each file is
// complete or absent; earlier files are replaced. Returns the paths. Throws LoadError naming the file that cannot be
// written.
std::vector<std::string> write_beside(const Json& report, const std::string& html_or_stem);

}  // namespace millrace::loadtest::report
