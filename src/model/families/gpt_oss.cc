// gpt-oss (arXiv:2508.10925): biases everywhere, a sink in each softmax, a window in every other layer, and experts
// with a clamped SwiGLU, in MXFP4 or bf16.
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kSwigluAlpha{.json = {"swiglu_alpha"}, .neutral = "1.702"};
constexpr checkpoint::ConfigField kSwigluLimit{.json = {"swiglu_limit"}, .neutral = "7.0"};

ExpertsParams gpt_oss_experts(checkpoint::ConfigView& view, const ModelSpec& spec) {
  ExpertsParams experts = read_experts(view, spec, {.router = "softmax_of_chosen", .experts = 128, .chosen = 4});
  experts.router_bias = experts.biases = true;
  experts.activation = backend::Activation::kClampedSwiglu;
  experts.parameters = {.alpha = static_cast<float>(view.positive_number(kSwigluAlpha).value_or(1.702)),
                        .limit = static_cast<float>(view.positive_number(kSwigluLimit).value_or(7.0)),
                        .shift = 1.0f};
  if (view.gguf()) return experts;
  const std::string mixture = "model.layers.{}.mlp.";
  experts.names.router = mixture + "router";
  experts.names.gate_up_bias = mixture + "experts.gate_up_proj_bias";
  experts.names.stacked_down_bias = mixture + "experts.down_proj_bias";
  experts.inputs_first = experts.interleaved = true;
  return experts;
}

}  // namespace

ModelFamily gpt_oss() {
  std::vector<checkpoint::ConfigField> fields = moe_fields();
  fields.insert(fields.end(), {kSwigluAlpha, kSwigluLimit});
  return {.name = "gpt_oss",
          .hf = {"GptOssForCausalLM"},
          .gguf = {"gpt-oss"},
          .defaults = {.json = R"({"sliding_window": 128,
                                   "rope_theta": 150000.0, "head_dim": 64})",
                       .norm_eps = 1e-5,
                       .attention_bias = true,
                       .window_period = 2},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            const bool gguf = view.gguf();
            each_attention(spec, [&](AttentionParams& a) {
              a.sinks = true;
              if (!gguf) a.names.sinks = "model.layers.{}.self_attn.sinks";
            });
            if (gguf) spec.ropes.front().scaling.truncate = false;  // which GGUF cannot say
            if (gguf) each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "blk.{}.post_attention_norm"; });
            use_experts(spec, gpt_oss_experts(view, spec));
            return spec;
          }};
}

}  // namespace millrace::model::families
