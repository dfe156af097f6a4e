#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"
#include "model/norm_spec.h"

namespace millrace::model {

// Patterns of the names of a mixture's weights, as in WeightNames.
struct ExpertNames {
  std::string norm, router;
  std::string other_router = {};  // what the file may call it instead
  std::string choice_bias;        // a whole name; empty: the choice has no bias
  // Weights of experts: a tensor for each, whose number stands for `[]`, or a stack of all.
  std::string gate, up, down;
  // Stacks that a file may have instead: gate and up in one, and down.
  std::string gate_up, stacked_down;
  bool whole_stacks = false;  // these are whole names, without ".weight"
  // Whole names of biases of those stacks; empty: as of other weights.
  std::string gate_up_bias, stacked_down_bias;
  // The expert that every row goes through. If a file has `shared_gate_up`, gate and up are halves of it.
  std::string shared_gate, shared_up, shared_down, shared_gate_up;
  std::string shared_factor;  // a row whose product's sigmoid is the factor of that expert's output; empty: 1
};
ExpertNames gguf_expert_names();
// The names of Qwen's mixtures and their descendants in Hugging Face files. `layer` is the prefix of a layer's names.
ExpertNames llama_expert_names(const std::string& layer);

// A mixture of experts, arXiv:1701.06538, in place of an MLP: with n = norm(x), f = the sum over the k chosen experts e
// of weight_e * expert_e(n), and shared(n). Each expert is an MLP.
struct ExpertsParams {
  static constexpr std::string_view kKind = "experts";

  std::int64_t width = 0;         // of one expert
  std::int64_t shared_width = 0;  // of the expert that every row goes through; 0: none
  backend::Routing routing;
  float router_softcap = 0.0f;  // the router's logits l become softcap * tanh(l / softcap); 0 = as they are (Laguna)
  bool scale_inputs = false;    // the router's weights are factors of n instead
  bool gated = true;
  backend::Activation activation = backend::Activation::kSilu;
  backend::ActivationParameters parameters = {};
  NormSpec norm;
  bool router_bias = false;   // the router's product has a bias
  bool biases = false;        // the experts' products have
  bool inputs_first = false;  // the file has stacks as [experts, in, out], if gate and up are one
  bool interleaved = false;   // in such a stack gate and up are the even and the odd outputs
  ExpertNames names = {};
};

// How many different experts so many rows choose, on average, if all are as likely.
double expected_experts(const backend::Routing& routing, double rows) noexcept;

}  // namespace millrace::model
