#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace millrace::loadtest {

// JSON of another server or of a data set, with the habits of Python (base/strict_json.h); discarded where it is none.
nlohmann::json parse_foreign_json(std::string_view text);

}  // namespace millrace::loadtest
