#pragma once

#include <span>

#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// Fills sliding_window and layer_uses_window. `used`: whether config.json's window counts where use_sliding_window does
// not say. config.n_layers must be set. Throws LoadError.
void read_window(checkpoint::ConfigView& view, bool used, ModelConfig& config);

std::span<const checkpoint::ConfigField> window_fields();

}  // namespace millrace::model
