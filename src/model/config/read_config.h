#pragma once

#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "model/config/model_config.h"

namespace millrace::model {

// The shape of the model that a checkpoint's configuration describes, also of an architecture that no family knows.
Result<ModelConfig> read_model_config(const checkpoint::Checkpoint& checkpoint);

// The shape that the text of a config.json describes. `file` names the file in messages. Throws LoadError.
ModelConfig parse_hf_config(const std::string& file, std::string_view json);

}  // namespace millrace::model
