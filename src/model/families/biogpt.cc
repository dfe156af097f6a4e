// BioGPT (arXiv:2210.10341): layer norms, learned positions from row 2 on, biases everywhere, embeddings times the root
// of their size.
#include "model/fairseq_spec.h"

#include <cmath>

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kBiogptScaled{.json = {"scale_embedding"}, .neutral = "*"};

}  // namespace

ModelFamily biogpt() {
  return {.name = "biogpt",
          .hf = {"BioGptForCausalLM"},
          .gguf = {},
          .defaults = {.activation = "gelu", .tied_head = true, .rotary = false},
          .fields = {kBiogptScaled},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            each_norm(spec, [](NormSpec& norm) { norm.eps = 1e-5f; });  // the class does not read its layer_norm_eps
            use_learned_positions(spec);
            spec.position_offset = 2;
            const bool scaled = view.boolean(kBiogptScaled).value_or(true);
            spec.embedding_scale = scaled ? std::sqrt(static_cast<float>(spec.hidden_size)) : 1.0f;
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            name_fairseq_layers(spec, "biogpt.");
            spec.names.head = "output_projection";
            return spec;
          }};
}

}  // namespace millrace::model::families
