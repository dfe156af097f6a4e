// BioGPT (arXiv:2210.10341): layer norms, learned positions from row 2 on, biases everywhere, embeddings times the root
// of their size.
#include "model/llama_spec.h"

#include <cmath>

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kBiogptScaled{.json = {"scale_embedding"}, .neutral = "*"};

void name_biogpt(ModelSpec& spec) {
  const std::string layer = "biogpt.layers.{}.";
  spec.names.embedding = "biogpt.embed_tokens";
  spec.names.positions = "biogpt.embed_positions";
  spec.names.final_norm = "biogpt.layer_norm";
  spec.names.head = "output_projection";
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "self_attn_layer_norm",
               .q = layer + "self_attn.q_proj",
               .k = layer + "self_attn.k_proj",
               .v = layer + "self_attn.v_proj",
               .o = layer + "self_attn.out_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "final_layer_norm", .up = layer + "fc1", .down = layer + "fc2"};
  });
}

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
            name_biogpt(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
