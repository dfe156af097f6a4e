#include "model/llama_spec.h"

#include <cmath>

namespace millrace::model {
namespace {

// The same for every family.
WeightNames gguf_names() {
  return {.embedding = "token_embd",
          .positions = "position_embd",
          .final_norm = "output_norm",
          .head = "output",
          .ignored = {"rope_freqs.weight", "*.rope_freqs.weight"}};
}

WeightNames hf_names() {
  return {.embedding = "model.embed_tokens",
          .positions = "",
          .final_norm = "model.norm",
          .head = "lm_head",
          .ignored = {"*.rotary_emb.inv_freq"}};
}

}  // namespace

backend::Activation parse_activation(std::string_view name) {
  using backend::Activation;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  throw_load_error(ErrorCode::kUnsupported, "activation",
                   "activation '{}' is not one of silu, gelu, gelu_new, "
                   "gelu_pytorch_tanh, relu",
                   name);
}

void name_llama_layer(LayerSpec& layer, const std::string& prefix) {
  layer.get<AttentionParams>().names = llama_attention_names(prefix);
  layer.get<MlpParams>().names = llama_mlp_names(prefix);
}

ModelSpec llama_spec(checkpoint::ConfigView&, const ModelConfig& config, checkpoint::Checkpoint::Container container) {
  return llama_spec(config, container);
}

ModelSpec llama_spec(const ModelConfig& config, checkpoint::Checkpoint::Container container) {
  const bool gguf = container == checkpoint::Checkpoint::Container::kGguf;
  ModelSpec spec;
  spec.vocab_size = config.vocab_size;
  spec.hidden_size = config.hidden_size;
  spec.context_length = config.context_length;
  spec.norm_eps = static_cast<float>(config.norm_eps);
  spec.rope_theta = config.rope_theta;
  spec.rope_dim = config.rope_dim > 0 ? config.rope_dim : config.head_dim;
  spec.rope_scaling = config.rope_scaling;
  spec.tied_head = config.tie_word_embeddings;
  spec.names = gguf ? gguf_names() : hf_names();
  AttentionParams attention{.heads = config.n_heads,
                            .kv_heads = config.n_kv_heads,
                            .head_dim = config.head_dim,
                            .value_dim = config.value_dim,
                            .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)))};
  MlpParams mlp{.width = config.intermediate_size,
                .activation = parse_activation(config.activation.empty() ? "silu" : config.activation)};
  attention.names = gguf ? gguf_attention_names() : llama_attention_names("model.layers.{}.");
  mlp.names = gguf ? gguf_mlp_names() : llama_mlp_names("model.layers.{}.");
  const LayerSpec layer{.blocks = {std::move(attention), std::move(mlp)}};
  spec.layers.assign(static_cast<std::size_t>(config.n_layers), layer);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const bool uses_window = config.layer_uses_window.empty() || config.layer_uses_window[i];
    spec.layers[i].get<AttentionParams>().window = uses_window ? config.sliding_window : 0;
  }
  return spec;
}

}  // namespace millrace::model
