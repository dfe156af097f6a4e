#pragma once

#include <millrace/config.h>

#include "base/result.h"
#include "runtime/engine_config.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

// Convert a public configuration and validate it. kInvalidArgument names the first invalid field, its value and the
// limit. The field has the name of its flag, which public_error() turns into the public name. Read no file.
Result<ModelConfig> read_config(const api::ModelConfig& config);
Result<EngineConfig> read_config(const api::EngineConfig& config);

}  // namespace millrace::runtime
