// ModernBERT as a decoder, Ettin (arXiv:2507.11412): layer norms without biases, a window in two of three layers, which
// rotate by another base, and a head of a matrix, GELU and a norm in front of the embedding.
#include "model/blocks/linear.h"
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kLocal{.json = {"local_attention"}, .neutral = "*"};  // twice the window
constexpr ConfigField kModernEps{.json = {"norm_eps"}};  // files also have a layer_norm_eps, of nothing
constexpr ConfigField kModernPeriod{.json = {"global_attn_every_n_layers"}, .neutral = "*"};
constexpr ConfigField kModernTypes{.json = {"layer_types"}, .neutral = "*"};
constexpr ConfigField kNormBias{.json = {"norm_bias"}};
constexpr ConfigField kHeadActivation{.json = {"classifier_activation"}, .neutral = "*"};

// Files may leave the window and its layers to the class.
void complete_windows(checkpoint::ConfigView& view, ModelConfig& config) {
  const std::int64_t local = view.integer(kLocal, {2, checkpoint::kMaxCount}).value_or(128);
  const std::int64_t period = view.integer(kModernPeriod, checkpoint::kCounts).value_or(3);
  const nlohmann::json* types = view.json(kModernTypes);
  if (types != nullptr && config.sliding_window > 0) return;
  if (types != nullptr && std::ssize(*types) != config.n_layers) {
    view.bad_value(kModernTypes, fmt::format("{} entries for {} layers", types->size(), config.n_layers));
  }
  if (config.sliding_window == 0) config.sliding_window = local / 2;
  config.layer_uses_window.clear();
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    config.layer_uses_window.push_back(types == nullptr ? i % period != 0 : types->at(layer) == "sliding_attention");
  }
}

void name_modernbert(ModelSpec& spec) {
  const std::string layer = "model.layers.{}.";
  spec.names.embedding = "model.embeddings.tok_embeddings";
  spec.names.embedding_norm = "model.embeddings.norm";
  spec.names.head = "decoder";
  each_attention(spec, [&](AttentionParams& a) {
    a.names.norm = layer + "attn_norm";
    a.names.q = layer + "attn.q_proj";
    a.names.k = layer + "attn.k_proj";
    a.names.v = layer + "attn.v_proj";
    a.names.o = layer + "attn.Wo";
  });
  spec.layers.front().get<AttentionParams>().names.norm.clear();  // the embedding is normed
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names.norm = layer + "mlp_norm";
    mlp.names.gate_up = layer + "mlp.Wi";
    mlp.names.down = layer + "mlp.Wo";
  });
}

void add_head(ModelSpec& spec, backend::Activation activation) {
  BlockSpec head = LinearParams{.size = spec.hidden_size,
                                .activation = activation,
                                .norm = spec.final_norm,
                                .norm_name = "model.final_norm",
                                .weight_name = "lm_head.dense",
                                .role = "output_dense"};
  head.output.replaces = true;
  spec.layers.push_back({.blocks = {std::move(head)}});
  spec.names.final_norm = "lm_head.norm";
}

}  // namespace

ModelFamily modernbert_decoder() {
  return {.name = "modernbert_decoder",
          .hf = {"ModernBertDecoderForCausalLM"},
          .gguf = {},
          .defaults = {.activation = "gelu",
                       .json = R"({"global_rope_theta": 160000.0, "local_rope_theta": 10000.0})",
                       .norm_eps = 1e-5,
                       .tied_head = true},
          .fields = {kModernEps, kLocal, kModernPeriod, kModernTypes, kNormBias, kHeadActivation},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            config.norm_eps = view.positive_number(kModernEps).value_or(config.norm_eps);
            complete_windows(view, config);
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, view.boolean(kNormBias).value_or(false));
            name_modernbert(spec);
            add_head(spec, parse_activation(view.text(kHeadActivation).value_or("gelu")));
            return spec;
          }};
}

}  // namespace millrace::model::families
