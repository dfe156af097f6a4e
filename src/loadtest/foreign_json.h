#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace millrace::loadtest {

// Parses JSON of another server or a data set, with the extensions of Python (base/strict_json.h). Returns a discarded
// value for anything else.
nlohmann::json parse_foreign_json(std::string_view text);

}  // namespace millrace::loadtest
