#pragma once

#include <span>

#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// What holds where the file is silent.
struct WindowDefaults {
  bool used = true;         // config.json's window applies where use_sliding_window is absent
  std::int64_t period = 0;  // every period-th layer sees all tokens; 0 = none does
  bool chunks = false;      // layer_types may have chunked_attention, which the family reads itself
};

// Reads sliding_window and layer_uses_window. config.n_layers must be set. Throws LoadError.
void read_window(checkpoint::ConfigView& view, const WindowDefaults& defaults, ModelConfig& config);

// Every field that read_window() reads.
std::span<const checkpoint::ConfigField> window_fields();

}  // namespace millrace::model
