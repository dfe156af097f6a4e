#pragma once

#include <millrace/config.h>

#include "base/result.h"
#include "runtime/engine_config.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

// Converts public configurations to internal ones, and checks them. kInvalidArgument names the first field that is
// wrong, its value and the limit.
Result<ModelConfig> read_config(const api::ModelConfig& config);
Result<EngineConfig> read_config(const api::EngineConfig& config);

}  // namespace millrace::runtime
