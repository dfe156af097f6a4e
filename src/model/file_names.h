#pragma once

#include "checkpoint/checkpoint.h"
#include "model/model_spec.h"

namespace millrace::model {

// Finds how this file spells the names of a spec: WeightNames::renamed, and in `ignored` what belongs to other
// modalities. For safetensors and torch files; in GGUF all names are the same.
void find_file_names(const checkpoint::Checkpoint& checkpoint, WeightNames& names);

// Whether a name matches a pattern, in which each '*' stands for any run of characters.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace millrace::model
