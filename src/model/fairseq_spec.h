#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// The names of what was trained with fairseq (OPT, XGLM, BioGPT) in Hugging Face files. `model` is what precedes them:
// "model.decoder.".
void name_fairseq_layers(ModelSpec& spec, const std::string& model);

}  // namespace millrace::model
