#pragma once

#include <string_view>
#include <vector>

#include "model/synth/synth_model.h"

// Heads of random weights for speculation on a model of a given shape: their draft tokens are worth nothing, their cost
// is that of trained ones.

namespace millrace::model {

std::vector<std::string_view> synth_head_kinds();  // "medusa", "eagle", "eagle3"

// Lays out heads as a directory of safetensors. Medusa: four heads of one block. EAGLE and EAGLE-3: a layer like the
// shape's, EAGLE-3's with a head for the whole vocabulary. `options.tokenizer` says how many tokens that has, as in
// plan_synth. kInvalidArgument for a kind that there is not, or a format that safetensors has not.
Result<SynthModel> plan_synth_speculators(const SynthShape& shape, std::string_view kind, SynthOptions options);

}  // namespace millrace::model
