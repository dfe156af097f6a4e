// MPT (MosaicML): layer norms without biases, ALiBi, an ungated GELU MLP, no biases.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;
using checkpoint::JsonFields;

constexpr ConfigField kAttention{.json = {"attn_config"}, .neutral = "*"};
constexpr ConfigField kExpansion{.json = {"expansion_ratio"}, .neutral = "*"};
constexpr ConfigField kNoBias{.json = {"no_bias"}, .neutral = "true"};
constexpr ConfigField kSlopes{.gguf = {"attention.max_alibi_bias"}};
constexpr ConfigField kMptClip{.gguf = {"attention.clamp_kqv"}};

void read_json_attention(const JsonFields& attention, ModelSpec& spec) {
  if (attention.boolean("qk_ln").value_or(false)) attention.unsupported("qk_ln", "true is not supported");
  if (attention.boolean("prefix_lm").value_or(false)) attention.unsupported("prefix_lm", "true is not supported");
  if (!attention.boolean("alibi").value_or(true)) attention.unsupported("alibi", "false is not supported");
  const double max_bias = attention.number("alibi_bias_max").value_or(8.0);
  const double clip = attention.number("clip_qkv").value_or(0.0);
  const auto scale = attention.number("softmax_scale");
  each_attention(spec, [&](AttentionParams& a) {
    a.alibi = 1.0f;
    a.alibi_max = static_cast<float>(max_bias);
    a.clip = static_cast<float>(clip);
    if (scale) a.scale = static_cast<float>(*scale);
  });
}

void name_mpt(ModelSpec& spec) {
  const std::string layer = "transformer.blocks.{}.";
  spec.names.embedding = "transformer.wte";
  spec.names.final_norm = "transformer.norm_f";
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "norm_1", .qkv = layer + "attn.Wqkv", .o = layer + "attn.out_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "norm_2", .up = layer + "ffn.up_proj", .down = layer + "ffn.down_proj"};
  });
}

}  // namespace

ModelFamily mpt() {
  return {.name = "mpt",
          .hf = {"MptForCausalLM", "MPTForCausalLM"},
          .gguf = {"mpt"},
          .defaults = {.activation = "gelu",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .ffn_factor = 4,
                       .rotary = false,
                       .code_is_known = true},
          .fields = {kAttention, kExpansion, kNoBias, kSlopes, kMptClip},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (const auto ratio = view.integer(kExpansion, {1, 1024}))
              config.intermediate_size = *ratio * config.hidden_size;
            view.has(kNoBias);
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, false);
            rotate_nothing(spec);
            each_mlp(spec, [](MlpParams& mlp) {
              mlp.gated = false;
              mlp.activation = backend::Activation::kGelu;
            });
            if (view.gguf()) {
              const double max_bias = view.number(kSlopes).value_or(0.0), clip = view.number(kMptClip).value_or(0.0);
              each_attention(spec, [&](AttentionParams& a) {
                a.alibi = max_bias > 0.0 ? 1.0f : 0.0f;
                a.alibi_max = static_cast<float>(max_bias);
                a.clip = static_cast<float>(clip);
              });
              return spec;
            }
            static const nlohmann::json kNothing = nlohmann::json::object();
            read_json_attention(view.object(kAttention).value_or(JsonFields(view.file(), kNothing)), spec);
            name_mpt(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
