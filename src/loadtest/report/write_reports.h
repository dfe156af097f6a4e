#pragma once

#include <string>
#include <vector>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// Writes a report's other forms: STEM.NAME.svg for each plot, STEM.csv and STEM.md, where STEM is the path without
// ".html" or ".json" at its end. Each file is whole or not there; those of an earlier run are replaced. Returns their
// paths. Throws LoadError naming the file that cannot be written.
std::vector<std::string> write_beside(const Json& report, const std::string& html_or_stem);

}  // namespace millrace::loadtest::report
