#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// What GPT-J and CodeGen share; they have no GGUF architecture.
ConfigDefaults gptj_defaults();
ModelSpec gptj_spec(checkpoint::ConfigView& view, const ModelConfig& config);

}  // namespace millrace::model
