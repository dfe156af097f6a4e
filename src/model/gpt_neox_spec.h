#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// The names of GPT-NeoX and its descendant in Hugging Face files. `model` is what precedes them: "gpt_neox.".
void name_gpt_neox(ModelSpec& spec, const std::string& model);

}  // namespace millrace::model
