#pragma once

#include <cstdint>
#include <string>

#include "model/config/model_config.h"

namespace millrace::model {

inline constexpr std::int64_t kMaxLayers = 4096;  // limit of layers, which bounds what is allocated for each

// Checks the relations between fields: heads divide, windows and rotated dimensions fit. Throws LoadError; `file` names
// the file in messages.
void check_model_config(const std::string& file, const ModelConfig& config);

}  // namespace millrace::model
