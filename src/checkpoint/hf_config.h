#pragma once

#include <string>
#include <string_view>

#include "checkpoint/model_config.h"

namespace millrace::checkpoint {

// config.json of Hugging Face Transformers -> ModelConfig, range-checked. Knows the spellings of llama-like models and
// of GPT-2. `file` names it in messages. Throws LoadError; a configuration that asks for the repository's own Python
// code (auto_map) is refused.
ModelConfig parse_hf_config(const std::string& file, std::string_view json);

// eos_token_id (one or a list) and the sampling fields, as generation_config.json and config.json both may hold them.
GenerationDefaults parse_generation_config(const std::string& file, std::string_view json);

}  // namespace millrace::checkpoint
