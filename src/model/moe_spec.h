#pragma once

#include <functional>
#include <vector>

#include "model/blocks/experts.h"
#include "model/llama_spec.h"

namespace millrace::model {

// The fields that read_experts() reads, in all spellings.
std::vector<checkpoint::ConfigField> moe_fields();

// Whether the configuration has experts at all.
bool has_experts(checkpoint::ConfigView& view);

// Throws kUnsupported if there is more than one.
void refuse_experts(checkpoint::ConfigView& view);

// What families differ in before the configuration has its say.
struct MoeDefaults {
  std::string_view router = "softmax";
  std::int64_t experts = 8, chosen = 2;  // of config.json
  bool normalised = true;
  float floor = 0.0f;
  std::string_view choice_bias = {};  // its name in a layer of config.json's files; empty: there is none
};
inline constexpr float kSigmoidFloor = 1e-20f;  // DeepSeek's, and of those who took over their router
// GLM-4.5's, and of those who took over its class.
inline constexpr MoeDefaults kGlmExperts{.router = "sigmoid",
                                         .experts = 128,
                                         .chosen = 8,
                                         .floor = kSigmoidFloor,
                                         .choice_bias = "mlp.gate.e_score_correction_bias"};

// The mixture that a configuration describes: sizes, routing, and a shared expert as wide as all shared ones. With the
// norm and the activation of the layers' MLPs, and the names of GGUF or, in config.json, of Qwen's files. Throws
// LoadError.
ExpertsParams read_experts(checkpoint::ConfigView& view, const ModelSpec& spec, const MoeDefaults& defaults = {});

// Names of Hugging Face files: Mixtral's of router and experts, and those of the expert that every row goes through,
// behind `prefix`.
void name_as_mixtral(ExpertNames& names);
void name_shared_expert(ExpertNames& names, const std::string& prefix);

// llama_spec() without the layers of multi-token prediction, which lie behind the others and GGUF counts among them;
// their tensors are left alone.
ModelSpec llama_spec_without_mtp(checkpoint::ConfigView& view, const ModelConfig& config);

// How many of the first layers have an MLP instead, as the configuration says.
std::int64_t read_dense_layers(checkpoint::ConfigView& view, std::int64_t otherwise = 0);

// Puts the mixture in the place of the MLP of the layers for which has_experts(layer); what happens to its output, and
// the name of its norm, stay as they are.
void use_experts(ModelSpec& spec, const ExpertsParams& experts,
                 const std::function<bool(std::int64_t layer)>& has_experts);
void use_experts(ModelSpec& spec, const ExpertsParams& experts, std::int64_t dense_layers = 0);
// The same in the layers of which mlp_layer_types says so or, without that, in all but the first dense ones.
void use_experts_as_read(checkpoint::ConfigView& view, ModelSpec& spec, const ExpertsParams& experts,
                         std::int64_t dense_otherwise = 0);

}  // namespace millrace::model
