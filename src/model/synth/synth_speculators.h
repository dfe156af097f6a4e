#pragma once

#include <string_view>
#include <vector>

#include "model/synth/synth_model.h"

// Heads of random weights for speculation on a model of a given shape. They cost as much as trained ones, but their
// draft tokens are random.

namespace millrace::model {

std::vector<std::string_view> synth_head_kinds();  // "medusa", "eagle", "eagle3"

// Lays out heads as a directory of safetensors. Medusa: four heads of one block. EAGLE and EAGLE-3: a layer of the
// shape's dimensions; EAGLE-3 has an output head for the whole vocabulary, whose size is that of `options.tokenizer` as
// in plan_synth(). kInvalidArgument for an unknown kind, or for a format that safetensors cannot store.
Result<SynthModel> plan_synth_speculators(const SynthShape& shape, std::string_view kind, SynthOptions options);

}  // namespace millrace::model
