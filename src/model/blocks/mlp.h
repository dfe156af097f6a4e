#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "model/norm_spec.h"

namespace millrace::model {

// Patterns of the names of an MLP's weights, as in WeightNames. `gate` is only used if it is gated. If a file has
// `gate_up`, it holds gate and up in one tensor, the gate first.
struct MlpNames {
  std::string norm, gate, up, down;
  std::string gate_up, sub_norm;
  std::string xielu;  // what precedes "alpha_p", "alpha_n", "beta" and "eps" in whole names
};
MlpNames gguf_mlp_names();
// The names of Llama and its descendants in Hugging Face files. `layer` is the prefix of a layer's names:
// "model.layers.{}.".
MlpNames llama_mlp_names(const std::string& layer);

// The feed-forward network: f = down(activation(gate(n)) * up(n)) with n = norm(x); without a gate, f =
// down(activation(up(n))).
struct MlpParams {
  static constexpr std::string_view kKind = "mlp";

  std::int64_t width = 0;
  bool gated = true;  // activation(gate) * up, else activation(up)
  backend::Activation activation = backend::Activation::kSilu;
  // Only xIELU has parameters. If names.xielu is set, the file has them.
  backend::ActivationParameters parameters = {};
  NormSpec norm;
  NormSpec sub_norm;  // of what goes into down (BitNet), if it has a name
  MlpNames names = {};
};

// The parameters of xIELU from those that are learned (arXiv:2411.13010).
backend::ActivationParameters xielu_parameters(double alpha_p, double alpha_n, double beta, double eps);

}  // namespace millrace::model
