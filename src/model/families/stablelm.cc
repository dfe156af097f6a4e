// StableLM (arXiv:2402.17834): Llama's layer with layer norms and partial rotation; 2 12B in parallel behind one norm,
// and with layer norms of heads, each with weights of its own.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kStablelmParallel{.json = {"use_parallel_residual"}, .gguf = {"use_parallel_residual"}};
constexpr ConfigField kStablelmHeadNorm{.json = {"qk_layernorm"}};              // in GGUF the tensors tell
constexpr ConfigField kStablelmBias{.json = {"use_qkv_bias"}, .neutral = "*"};  // the tensors tell

}  // namespace

ModelFamily stablelm() {
  return {.name = "stablelm",
          .hf = {"StableLmForCausalLM", "StableLMEpochForCausalLM"},
          .gguf = {"stablelm"},
          .defaults = {.json = R"({"partial_rotary_factor": 0.25})", .norm_eps = 1e-5, .code_is_known = true},
          .fields = {kStablelmParallel, kStablelmHeadNorm, kStablelmBias},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kStablelmBias);
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            if (view.boolean(kStablelmParallel).value_or(false)) run_behind_one_norm(spec);
            if (!view.boolean(kStablelmHeadNorm).value_or(config.head_norms)) return spec;
            add_head_norms(spec);
            each_attention(spec, [&](AttentionParams& a) {
              a.q_k_norm->own_weights = true;
              a.q_k_norm->norm.bias = false;
              if (view.gguf()) return;
              a.names.q_norm = "model.layers.{}.self_attn.q_layernorm.norms.[]";
              a.names.k_norm = "model.layers.{}.self_attn.k_layernorm.norms.[]";
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
