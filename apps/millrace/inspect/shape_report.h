#pragma once

#include <nlohmann/json.hpp>

#include "model/config/model_config.h"
#include "model/model_spec.h"

namespace millrace::app {

// The dimensions of a model: a list by layer where layers differ in one. Without a spec, which an unknown architecture
// does not have, what the configuration says.
nlohmann::ordered_json describe_shape(const model::ModelConfig& config, const model::ModelSpec* spec);

}  // namespace millrace::app
