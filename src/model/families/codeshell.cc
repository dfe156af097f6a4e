// CodeShell 7B (arXiv:2403.15747): GPT-2's layer with rotation and groups of queries.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kGroups{.json = {"num_query_groups"}, .neutral = "*"};
constexpr ConfigField kCodeshellGrouped{.json = {"group_query_attention"}, .neutral = "*"};
constexpr ConfigField kCodeshellPositions{.json = {"position_embedding_type"}, .neutral = "*"};

void name_codeshell(ModelSpec& spec) {
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.wte";
  spec.names.final_norm = "transformer.ln_f";
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "ln_1", .qkv = layer + "attn.c_attn", .o = layer + "attn.c_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "ln_2", .up = layer + "mlp.c_fc", .down = layer + "mlp.c_proj"};
  });
}

}  // namespace

ModelFamily codeshell() {
  return {.name = "codeshell",
          .hf = {"CodeShellForCausalLM"},
          .gguf = {"codeshell"},
          .defaults = {.activation = "gelu_pytorch_tanh",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .attention_bias = true,
                       .mlp_bias = true,
                       .ffn_factor = 4,
                       .code_is_known = true},
          .fields = {kGroups, kCodeshellGrouped, kCodeshellPositions},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            if (view.text(kCodeshellPositions).value_or("rope") != "rope") {
              view.unsupported(kCodeshellPositions, "only rope is supported");
            }
            ModelConfig config = read;
            const auto groups = view.integer(kGroups, {1, config.n_heads});
            if (groups && view.boolean(kCodeshellGrouped).value_or(true)) config.n_kv_heads = *groups;
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            each_mlp(spec, [&](MlpParams& mlp) {
              mlp.gated = false;
              if (view.gguf()) mlp.activation = backend::Activation::kGeluTanh;
            });
            if (!view.gguf()) name_codeshell(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
