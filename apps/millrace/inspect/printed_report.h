#pragma once

#include <nlohmann/json_fwd.hpp>

namespace millrace::app {

// Prints the result of model_report() on stdout as text for people.
void print_report(const nlohmann::ordered_json& report);

}  // namespace millrace::app
