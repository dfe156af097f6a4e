#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace millrace::model {

// Patterns of the names of an MLP's weights, as in WeightNames. `gate` is only used if it is gated.
struct MlpNames {
  std::string norm, gate, up, down;
};
MlpNames gguf_mlp_names();
// The names of Llama and its descendants in Hugging Face files. `layer` is the prefix of a layer's names:
// "model.layers.{}.".
MlpNames llama_mlp_names(const std::string& layer);

// The feed-forward network: x += down(activation(gate(n)) * up(n)) with n = norm(x); without a gate, x +=
// down(activation(up(n))).
struct MlpParams {
  static constexpr std::string_view kKind = "mlp";

  std::int64_t width = 0;
  bool gated = true;  // activation(gate) * up, else activation(up)
  backend::Activation activation = backend::Activation::kSilu;
  MlpNames names = {};
};

}  // namespace millrace::model
