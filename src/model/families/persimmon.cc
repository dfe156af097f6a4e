// Persimmon and Fuyu's text model (Adept): layer norms, also of heads, biases everywhere, an MLP of squared ReLU,
// rotation of half a head.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kPersimmonText = R"({"vocab_size": 262144, "hidden_size": 4096, "intermediate_size": 16384,
    "num_hidden_layers": 36, "num_attention_heads": 64, "max_position_embeddings": 16384})";
constexpr checkpoint::ConfigField kPersimmonHeadNorm{.json = {"qk_layernorm"}, .neutral = "*"};

}  // namespace

ModelFamily persimmon() {
  return {.name = "persimmon",
          .hf = {"PersimmonForCausalLM"},
          .gguf = {},
          .text_types = {{"persimmon", kPersimmonText}},
          .defaults = {.activation = "relu2",
                       .json = R"({"partial_rotary_factor": 0.5, "rope_theta": 25000.0})",
                       .norm_eps = 1e-5,
                       .attention_bias = true,
                       .mlp_bias = true},
          .fields = {kPersimmonHeadNorm},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.boolean(kPersimmonHeadNorm).value_or(true)) add_head_norms(spec);
            use_layer_norms(spec, true);
            const std::string layer = "model.layers.{}.";
            spec.names.final_norm = "model.final_layernorm";
            each_attention(spec, [&](AttentionParams& a) {
              a.fused = FusedQkv::kGrouped;
              a.names.qkv = layer + "self_attn.query_key_value";
              a.names.o = layer + "self_attn.dense";
              a.names.q_norm = layer + "self_attn.q_layernorm";
              a.names.k_norm = layer + "self_attn.k_layernorm";
            });
            each_mlp(spec, [&](MlpParams& mlp) {
              mlp.gated = false;
              mlp.names.up = layer + "mlp.dense_h_to_4h";
              mlp.names.down = layer + "mlp.dense_4h_to_h";
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
