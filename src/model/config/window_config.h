#pragma once

#include <span>

#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// Reads sliding_window and layer_uses_window. `used`: whether config.json's window applies where use_sliding_window is
// absent. config.n_layers must be set. Throws LoadError.
void read_window(checkpoint::ConfigView& view, bool used, ModelConfig& config);

// Every field that read_window() reads.
std::span<const checkpoint::ConfigField> window_fields();

}  // namespace millrace::model
