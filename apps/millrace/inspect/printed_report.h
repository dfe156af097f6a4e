#pragma once

#include <nlohmann/json_fwd.hpp>

namespace millrace::app {

// Prints the result of model_report() on stdout as text for people.
void print_report(const nlohmann::ordered_json& report);

// Prints the result of describe_weights(): how weights are stored, and by whom.
void print_weights(const nlohmann::ordered_json& weights);

}  // namespace millrace::app
