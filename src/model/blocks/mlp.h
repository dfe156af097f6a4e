#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace millrace::model {

// Patterns of the names of an MLP's weights, as WeightNames says; `gate` only of gated ones.
struct MlpNames {
  std::string norm, gate, up, down;
};
MlpNames gguf_mlp_names();
// Hugging Face, Llama and its descendants; `layer` is what stands in front of a layer's names: "model.layers.{}.".
MlpNames llama_mlp_names(const std::string& layer);

// The feed-forward network: x += down(activation(gate(n)) * up(n)) with n = norm(x), or without the gate.
struct MlpParams {
  static constexpr std::string_view kKind = "mlp";

  std::int64_t width = 0;
  bool gated = true;  // activation(gate) * up, else activation(up)
  backend::Activation activation = backend::Activation::kSilu;
  MlpNames names = {};
};

}  // namespace millrace::model
