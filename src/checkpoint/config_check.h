#pragma once

#include <string>

#include "checkpoint/model_config.h"

namespace millrace::checkpoint {

// The range checks that model_config.h promises, whatever the file was. `file` names it in messages. Throws LoadError.
void check_model_config(const std::string& file, const ModelConfig& config);

}  // namespace millrace::checkpoint
