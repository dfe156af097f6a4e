#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "checkpoint/gguf_metadata.h"
#include "model/synth/synth_model.h"

namespace millrace::model {

// The metadata of a generated GGUF file, its tokenizer included.
std::vector<checkpoint::GgufEntry> synth_gguf_entries(const SynthModel& model);
// The config.json of a generated directory; `ids` are those of special tokens.
nlohmann::ordered_json synth_config_json(const SynthModel& model, const nlohmann::ordered_json& ids);

}  // namespace millrace::model
