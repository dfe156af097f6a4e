#include "model/llama_spec.h"

#include <algorithm>
#include <cmath>

namespace millrace::model {
namespace {

// The same for every family.
WeightNames gguf_names() {
  return {.embedding = "token_embd",
          .positions = "position_embd",
          .final_norm = "output_norm",
          .head = "output",
          .embedding_norm = "",
          .project_in = "",
          .project_out = "",
          .ignored = {"rope_freqs.weight", "*.rope_freqs.weight"},
          .renamed = {}};
}

WeightNames hf_names() {
  return {.embedding = "model.embed_tokens",
          .positions = "",
          .final_norm = "model.norm",
          .head = "lm_head",
          .embedding_norm = "",
          .project_in = "",
          .project_out = "",
          .ignored = {"*.rotary_emb.inv_freq"},
          .renamed = {}};
}

}  // namespace

backend::Activation parse_activation(std::string_view name) {
  using backend::Activation;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  if (name == "relu2" || name == "relu_squared") return Activation::kReluSquared;
  if (name == "quick_gelu") return Activation::kQuickGelu;
  if (name == "xielu") return Activation::kXielu;
  throw_load_error(
      ErrorCode::kUnsupported, "activation",
      "activation '{}' is not one of silu, gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, relu, "
      "relu2, xielu",
      name);
}

void name_llama_layer(LayerSpec& layer, const std::string& prefix) {
  layer.get<AttentionParams>().names = llama_attention_names(prefix);
  layer.get<MlpParams>().names = llama_mlp_names(prefix);
}

ModelSpec llama_spec(checkpoint::ConfigView& view, const ModelConfig& config) {
  return llama_spec(config, view.gguf());
}

namespace {

AttentionParams attention_of(const ModelConfig& config, bool gguf, const NormSpec& norm) {
  return {.heads = config.n_heads,
          .kv_heads = config.n_kv_heads,
          .head_dim = config.head_dim,
          .value_dim = config.value_dim,
          .norm = norm,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
          .names = gguf ? gguf_attention_names() : llama_attention_names("model.layers.{}.")};
}

// Layers of their own heads, widths, windows and rotations.
void vary_layers(ModelSpec& spec, const ModelConfig& config) {
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    auto& attention = layer.get<AttentionParams>();
    if (!config.layer_heads.empty()) attention.heads = config.layer_heads[i];
    if (!config.layer_kv_heads.empty()) attention.kv_heads = config.layer_kv_heads[i];
    if (!config.layer_ffn.empty()) layer.get<MlpParams>().width = config.layer_ffn[i];
    const bool uses_window = config.layer_uses_window.empty() || config.layer_uses_window[i];
    attention.window = uses_window ? config.sliding_window : 0;
    if (config.sliding_rope && attention.window > 0) attention.rope = 1;
  }
}

}  // namespace

ModelSpec llama_spec(const ModelConfig& config, bool gguf) {
  ModelSpec spec;
  spec.vocab_size = config.vocab_size;
  spec.hidden_size = config.hidden_size;
  spec.context_length = config.context_length;
  spec.final_norm.eps = static_cast<float>(config.norm_eps);
  spec.embedding_norm = spec.final_norm;
  spec.ropes = {config.rope};
  if (config.sliding_rope) spec.ropes.push_back(*config.sliding_rope);
  spec.tied_head = config.tie_word_embeddings;
  spec.names = gguf ? gguf_names() : hf_names();
  const MlpParams mlp{.width = config.intermediate_size,
                      .activation = parse_activation(config.activation.empty() ? "silu" : config.activation),
                      .norm = spec.final_norm,
                      .names = gguf ? gguf_mlp_names() : llama_mlp_names("model.layers.{}.")};
  LayerSpec layer{.blocks = {attention_of(config, gguf, spec.final_norm), mlp}};
  for (BlockSpec& block : layer.blocks) block.output.norm = block.output.sum_norm = spec.final_norm;
  spec.layers.assign(static_cast<std::size_t>(config.n_layers), layer);
  vary_layers(spec, config);
  return spec;
}

void use_layer_norms(ModelSpec& spec, bool bias) {
  each_norm(spec, [&](NormSpec& norm) {
    norm.kind = backend::NormKind::kLayer;
    norm.bias = bias;
  });
}

void use_offset_norms(ModelSpec& spec, bool gguf) {
  each_norm(spec, [&](NormSpec& norm) { norm.offset = gguf ? 0.0f : 1.0f; });
}

void keep_rotary_pairs(ModelSpec& spec) {
  each_attention(spec, [](AttentionParams& a) { a.rotary_pairs = true; });
}

void add_head_norms(ModelSpec& spec) {
  each_attention(spec, [](AttentionParams& a) { a.q_k_norm = HeadNormParams{.norm = a.norm}; });
}

void add_post_norms(ModelSpec& spec, bool gguf, const std::string& attention, const std::string& mlp) {
  for (LayerSpec& layer : spec.layers) {
    layer.block<AttentionParams>().output.norm_name =
        gguf ? "blk.{}.post_attention_norm" : "model.layers.{}." + attention;
    layer.block<MlpParams>().output.norm_name = gguf ? "blk.{}.post_ffw_norm" : "model.layers.{}." + mlp;
  }
}

void drop_input_norms(ModelSpec& spec) {
  each_attention(spec, [](AttentionParams& a) { a.names.norm.clear(); });
  each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm.clear(); });
}

void rotate_nothing(ModelSpec& spec) {
  spec.ropes.clear();
  each_attention(spec, [](AttentionParams& a) { a.rope = -1; });
}

void use_learned_positions(ModelSpec& spec) {
  rotate_nothing(spec);
  spec.positions = PositionKind::kLearned;
}

void rotate_layers_by(ModelSpec& spec, const std::vector<double>& thetas) {
  const RopeConfig first = spec.ropes.front();
  for (std::size_t i = 0; i < spec.layers.size() && i < thetas.size(); ++i) {
    RopeConfig rope = first;
    rope.theta = thetas[i];
    auto known = std::ranges::find(spec.ropes, rope);
    if (thetas[i] != 0.0 && known == spec.ropes.end()) known = spec.ropes.insert(spec.ropes.end(), rope);
    spec.layers[i].get<AttentionParams>().rope = thetas[i] == 0.0 ? -1 : static_cast<int>(known - spec.ropes.begin());
  }
}

void scale_residual(ModelSpec& spec, float factor) {
  for (LayerSpec& layer : spec.layers) {
    for (BlockSpec& block : layer.blocks) block.output.scale = factor;
  }
}

void run_in_parallel(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) layer.residual = ResidualForm::kParallel;
}

void run_behind_one_norm(ModelSpec& spec) {
  run_in_parallel(spec);
  for (LayerSpec& layer : spec.layers) layer.get<MlpParams>().names.norm = layer.get<AttentionParams>().names.norm;
}

}  // namespace millrace::model
