#pragma once

#include <nlohmann/json_fwd.hpp>

namespace millrace::app {

// A model_report on stdout, for people.
void print_report(const nlohmann::ordered_json& report);

}  // namespace millrace::app
