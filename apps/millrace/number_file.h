#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace millrace::app {

// The JSON object in a file of measurements. Throws LoadError (kBadFile) naming the file where there is none.
nlohmann::json read_number_file(const std::string& path);
// Its number of that name, where `fits(number)`; throws LoadError (kBadFile) naming file, field and what is `expected`.
double number_in(const nlohmann::json& object, const std::string& path, const char* name, const char* expected,
                 bool (*fits)(double number));

}  // namespace millrace::app
