#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// What a family's class takes where its configuration says nothing.
struct ConfigDefaults {
  std::string_view activation = "silu";
  double norm_eps = 1e-6;                         // config.json; GGUF always says it
  bool tied_head = false;                         // config.json; in GGUF the tensors tell
  bool attention_bias = false, mlp_bias = false;  // likewise
  std::int64_t ffn_factor = 0;  // feed-forward size in hidden sizes; 0 = the configuration must say it
  bool rotary = true;           // positions are rotary: the rope fields are read
  bool windows = true;          // a window counts unless use_sliding_window says otherwise
  bool code_is_known = false;   // auto_map names code that does what we do; else it is refused
};

// What all families share: sizes, heads, norm, activation, positions, windows, range-checked. Fields of one family
// alone are read by its spec(). Throws LoadError.
ModelConfig read_shared_config(checkpoint::ConfigView& view, const ConfigDefaults& defaults);
// What GGUF leaves to the tensors that are there: tied embeddings, biases.
void complete_from_tensors(const checkpoint::Checkpoint& checkpoint, ModelConfig& config);

// Every field that read_shared_config() may ask for.
std::span<const checkpoint::ConfigField> shared_fields();

}  // namespace millrace::model
