// OpenELM (arXiv:2404.14619): Llama's layer with norms of heads; each layer has heads and a width of its own.
#include "model/llama_spec.h"

#include <algorithm>

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kMultipliers{.json = {"ffn_multipliers"}};  // widths of the MLPs in multiples of the hidden size
constexpr ConfigField kDivisor{.json = {"ffn_dim_divisor"}, .neutral = "*"};  // which they are rounded to
constexpr ConfigField kGated{.json = {"ffn_with_glu"}, .neutral = "true"};
constexpr ConfigField kHeadNorms{.json = {"normalize_qk_projections"}, .neutral = "*"};
constexpr ConfigField kTied{.json = {"share_input_output_layers"}, .neutral = "*"};

std::vector<std::int64_t> widths_of(checkpoint::ConfigView& view, const ModelConfig& config) {
  const auto multipliers = view.numbers(kMultipliers);
  if (!multipliers || std::ssize(*multipliers) != config.n_layers) {
    view.bad_value(kMultipliers,
                   fmt::format("{} entries for {} layers", multipliers ? multipliers->size() : 0, config.n_layers));
  }
  const std::int64_t divisor = view.integer(kDivisor, {1, 65536}).value_or(256);
  std::vector<std::int64_t> widths;
  for (const double multiplier : *multipliers) {
    const double exact = multiplier * static_cast<double>(config.hidden_size);
    if (!(exact >= 1.0 && exact <= 1e9)) view.bad_value(kMultipliers, fmt::format("{} is out of range", multiplier));
    auto width =
        std::max(divisor, static_cast<std::int64_t>(exact + static_cast<double>(divisor) / 2.0) / divisor * divisor);
    if (static_cast<double>(width) < 0.9 * exact) width += divisor;
    widths.push_back(width);
  }
  return widths;
}

void name_openelm(ModelSpec& spec) {
  const std::string layer = "transformer.layers.{}.";
  spec.names.embedding = "transformer.token_embeddings";
  spec.names.final_norm = "transformer.norm";
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "attn_norm",
               .qkv = layer + "attn.qkv_proj",
               .o = layer + "attn.out_proj",
               .q_norm = layer + "attn.q_norm",
               .k_norm = layer + "attn.k_norm"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "ffn_norm", .down = layer + "ffn.proj_2", .gate_up = layer + "ffn.proj_1"};
  });
}

}  // namespace

ModelFamily openelm() {
  return {.name = "openelm",
          .hf = {"OpenELMForCausalLM"},
          .gguf = {"openelm"},
          .defaults = {.activation = "swish", .tied_head = true, .ffn_factor = 4, .code_is_known = true},
          .fields = {kMultipliers, kDivisor, kGated, kHeadNorms, kTied},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (!view.boolean(kGated).value_or(true)) view.unsupported(kGated, "false is not supported");
            if (view.has(kMultipliers)) config.layer_ffn = widths_of(view, config);
            if (!view.gguf()) config.tie_word_embeddings = view.boolean(kTied).value_or(true);
            ModelSpec spec = llama_spec(view, config);
            if (view.boolean(kHeadNorms).value_or(true)) add_head_norms(spec);
            if (!view.gguf()) name_openelm(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
