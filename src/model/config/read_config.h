#pragma once

#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "model/config/model_config.h"

namespace millrace::model {

// What a checkpoint's configuration says of its shape, also of an architecture that no family answers to.
Result<ModelConfig> read_model_config(const checkpoint::Checkpoint& checkpoint);

// The same of the text of a config.json alone. `file` names it in messages. Throws LoadError.
ModelConfig parse_hf_config(const std::string& file, std::string_view json);

}  // namespace millrace::model
