#pragma once

#include <cstdint>
#include <string>

#include "model/config/model_config.h"

namespace millrace::model {

inline constexpr std::int64_t kMaxLayers = 4096;  // bounds what is allocated per layer

// What no single field tells: that heads divide, that windows and rotated dimensions fit. `file` names it in messages.
// Throws LoadError.
void check_model_config(const std::string& file, const ModelConfig& config);

}  // namespace millrace::model
