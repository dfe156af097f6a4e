#include "model/model_spec.h"

#include <cmath>

namespace millrace::model {
namespace {

std::string known_architectures() {
  std::string text;
  for (const ModelFamily& family : all_families()) {
    for (const std::string_view name : family.hf) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace

Result<void> check_dimensions(const ModelSpec& spec, const backend::Limits& limits) {
  const auto unsupported = [](std::string field, std::int64_t value, std::string_view rule) {
    return make_error(ErrorCode::kUnsupported, field, "{} is {}: must be {}", field, value, rule);
  };
  const bool rotated = spec.positions == PositionKind::kRope;
  if (spec.hidden_size % 2 != 0) return unsupported("hidden_size", spec.hidden_size, "even");
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& a = layer.attention;
    const bool too_wide = limits.max_head_dim > 0 && a.head_dim > limits.max_head_dim;
    if (a.head_dim < 1 || too_wide || (rotated && a.head_dim % 2 != 0)) {
      const std::string_view from = rotated ? "an even number, as positions are rotary, from 2" : "from 1";
      const std::string to = limits.max_head_dim > 0 ? fmt::format(" to {}", limits.max_head_dim) : "";
      return unsupported("head_dim", a.head_dim, fmt::format("{}{}", from, to));
    }
    if (a.heads * a.head_dim % 2 != 0) return unsupported("n_heads * head_dim", a.heads * a.head_dim, "even");
    if (rotated && (spec.rope_dim % 2 != 0 || spec.rope_dim > a.head_dim)) {
      return unsupported("rope_dim", spec.rope_dim, fmt::format("even and at most head_dim, {}", a.head_dim));
    }
    if (a.heads % a.kv_heads != 0) return unsupported("n_heads", a.heads, "a multiple of the key/value heads");
    if (limits.max_group > 0 && a.heads / a.kv_heads > limits.max_group) {
      return unsupported("n_heads", a.heads, fmt::format("at most {} a key/value head", limits.max_group));
    }
    if (layer.mlp.width % 2 != 0) return unsupported("intermediate_size", layer.mlp.width, "even");
  }
  return {};
}

Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint, const backend::Limits& limits) {
  const bool gguf = checkpoint.container == checkpoint::Checkpoint::Container::kGguf;
  for (const ModelFamily& family : all_families()) {
    for (const std::string_view name : gguf ? family.gguf : family.hf) {
      if (name != checkpoint.config.architecture) continue;
      try {
        ModelSpec spec = family.spec(checkpoint.config, checkpoint.container);
        spec.family = family.name;
        if (auto checked = check_dimensions(spec, limits); !checked) return checked.error();
        return spec;
      } catch (const LoadError& failure) {
        return failure.error();
      }
    }
  }
  return make_error(ErrorCode::kUnsupported, "architecture", "{}: unknown architecture '{}'; known: {}",
                    checkpoint.path, checkpoint.config.architecture, known_architectures());
}

WeightNames gguf_names() {
  return {.embedding = "token_embd",
          .positions = "position_embd",
          .final_norm = "output_norm",
          .head = "output",
          .attention_norm = "blk.{}.attn_norm",
          .q = "blk.{}.attn_q",
          .k = "blk.{}.attn_k",
          .v = "blk.{}.attn_v",
          .qkv = "blk.{}.attn_qkv",
          .o = "blk.{}.attn_output",
          .q_norm = "blk.{}.attn_q_norm",
          .k_norm = "blk.{}.attn_k_norm",
          .mlp_norm = "blk.{}.ffn_norm",
          .gate = "blk.{}.ffn_gate",
          .up = "blk.{}.ffn_up",
          .down = "blk.{}.ffn_down",
          .ignored = {"rope_freqs.weight", "*.rope_freqs.weight"}};
}

WeightNames llama_names() {
  return {.embedding = "model.embed_tokens",
          .positions = "",
          .final_norm = "model.norm",
          .head = "lm_head",
          .attention_norm = "model.layers.{}.input_layernorm",
          .q = "model.layers.{}.self_attn.q_proj",
          .k = "model.layers.{}.self_attn.k_proj",
          .v = "model.layers.{}.self_attn.v_proj",
          .qkv = "",
          .o = "model.layers.{}.self_attn.o_proj",
          .q_norm = "model.layers.{}.self_attn.q_norm",
          .k_norm = "model.layers.{}.self_attn.k_norm",
          .mlp_norm = "model.layers.{}.post_attention_layernorm",
          .gate = "model.layers.{}.mlp.gate_proj",
          .up = "model.layers.{}.mlp.up_proj",
          .down = "model.layers.{}.mlp.down_proj",
          .ignored = {"*.rotary_emb.inv_freq"}};
}

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

ModelSpec llama_spec(const checkpoint::ModelConfig& config, checkpoint::Checkpoint::Container container) {
  ModelSpec spec;
  spec.vocab_size = config.vocab_size;
  spec.hidden_size = config.hidden_size;
  spec.context_length = config.context_length;
  spec.norm_eps = static_cast<float>(config.norm_eps);
  spec.rope_theta = config.rope_theta;
  spec.rope_dim = config.rope_dim > 0 ? config.rope_dim : config.head_dim;
  spec.rope_scaling = config.rope_scaling;
  spec.tied_head = config.tie_word_embeddings;
  spec.names = container == checkpoint::Checkpoint::Container::kGguf ? gguf_names() : llama_names();
  LayerSpec layer;
  layer.attention = {.heads = config.n_heads,
                     .kv_heads = config.n_kv_heads,
                     .head_dim = config.head_dim,
                     .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)))};
  layer.mlp = {.width = config.intermediate_size,
               .activation = parse_activation(config.activation.empty() ? "silu" : config.activation)};
  spec.layers.assign(static_cast<std::size_t>(config.n_layers), layer);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const bool uses_window = config.layer_uses_window.empty() || config.layer_uses_window[i];
    spec.layers[i].attention.window = uses_window ? config.sliding_window : 0;
  }
  return spec;
}

}  // namespace millrace::model
