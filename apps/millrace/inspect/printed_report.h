#pragma once

#include <nlohmann/json_fwd.hpp>

namespace millrace::app {

// Prints a model_report() to stdout, for people.
void print_report(const nlohmann::ordered_json& report);

}  // namespace millrace::app
