#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// The values that a family's class in Hugging Face's library has where its configuration is silent.
struct ConfigDefaults {
  std::string_view activation = "silu";
  // The class's values of other fields that files leave out, as a JSON object in the spelling of config.json: Gemma 3's
  // files have no num_attention_heads. Empty = none.
  std::string_view json = {};
  double norm_eps = 1e-6;                         // config.json only; GGUF always has it
  bool tied_head = false;                         // config.json only; in GGUF the tensors decide
  bool attention_bias = false, mlp_bias = false;  // config.json only
  // Feed-forward size in multiples of the hidden size; 0 = the configuration must have it.
  std::int64_t ffn_factor = 0;
  bool rotary = true;              // positions are rotary, so the rope fields are read
  bool windows = true;             // a window applies unless use_sliding_window is false
  std::int64_t window_period = 0;  // every so-manieth layer sees all tokens where the file is silent; 0 = none does
  bool chunks = false;             // layer_types may have chunked_attention, which the family reads itself
  // Code that auto_map names does what this family does; if false, auto_map is an error.
  bool code_is_known = false;
};

// Reads and checks what all families share: sizes, heads, norm, activation, positions, windows. The fields of a single
// family are read by its spec(). Throws LoadError.
ModelConfig read_shared_config(checkpoint::ConfigView& view, const ConfigDefaults& defaults);
// Sets what GGUF expresses by the presence of tensors: tied embeddings, biases.
void complete_from_tensors(const checkpoint::Checkpoint& checkpoint, ModelConfig& config);

// Every field that read_shared_config() may read.
std::span<const checkpoint::ConfigField> shared_fields();

}  // namespace millrace::model
