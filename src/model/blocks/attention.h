#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::model {

// Patterns of the names of an attention block's weights, as in WeightNames. If a file has `qkv`, it holds Q, K and V
// stacked. Without a name for the norm, attention reads its input without one.
struct AttentionNames {
  std::string norm, q, k, v, qkv, o, q_norm, k_norm;
};
AttentionNames gguf_attention_names();
// The names of Llama and its descendants in Hugging Face files. `layer` is the prefix of a layer's names:
// "model.layers.{}.".
AttentionNames llama_attention_names(const std::string& layer);

// Grouped-query attention (arXiv:2305.13245) over paged keys and values: x += o(attention(norm(x))).
struct AttentionParams {
  static constexpr std::string_view kKind = "attention";

  std::int64_t heads = 0, kv_heads = 0;
  std::int64_t head_dim = 0;   // of a query and a key
  std::int64_t value_dim = 0;  // of a value and of a head's output; 0 = head_dim
  bool q_k_norm = false;       // RMSNorm on each query and key head before the rotation (Qwen3)
  float scale = 0.0f;          // factor of q k^T
  std::int64_t window = 0;     // a token sees itself and the window - 1 tokens before it; 0 = all
  // Width of BlockRows::input, which attention reads without a norm instead of the residual; 0 = it reads the residual.
  std::int64_t input_width = 0;
  AttentionNames names = {};

  std::int64_t value_head_dim() const noexcept { return value_dim != 0 ? value_dim : head_dim; }
  // Total widths of all heads.
  std::int64_t q_size() const noexcept { return heads * head_dim; }
  std::int64_t k_size() const noexcept { return kv_heads * head_dim; }
  std::int64_t v_size() const noexcept { return kv_heads * value_head_dim(); }
  std::int64_t qkv_size() const noexcept { return q_size() + k_size() + v_size(); }
  std::int64_t output_size() const noexcept { return heads * value_head_dim(); }
};

}  // namespace millrace::model
