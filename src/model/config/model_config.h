#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::model {

// Position scaling of rotary embeddings, from Hugging Face's `rope_scaling` or `rope_parameters`, or GGUF's
// `rope.scaling.*`.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kDynamic, kYarn, kLlama3, kLongRope };
  Kind kind = Kind::kNone;
  double factor = 1.0;
  double alpha = 0.0;  // dynamic: a fixed factor of the base instead of one by length (HunYuan); 0 = by length
  std::int64_t original_context = 0;                     // tokens; 0 = the model's context length
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn
  std::optional<double> attention_factor;                // yarn, longrope; unset = by the factor
  std::optional<double> mscale, mscale_all_dim;          // yarn
  bool truncate = true;                                  // yarn: round the correction range to integers
  // longrope: divisors of the frequencies, for lengths up to original_context and beyond. Empty where a GGUF file has
  // them as tensors.
  std::vector<double> short_factors, long_factors;
  std::optional<double> short_magnitude, long_magnitude;  // longrope: attention_factor of either (Phi-3.5-MoE)
  bool operator==(const RopeScaling&) const = default;
};

// One way of rotating queries and keys.
struct RopeConfig {
  double theta = 10000.0;
  std::int64_t dim = 0;  // rotated dimensions of a head; all of them unless the file has fewer
  RopeScaling scaling;
  bool reversed = false;  // by minus the angle (NanoChat)
  bool operator==(const RopeConfig&) const = default;
};

// The hyperparameters that families share, from config.json or GGUF metadata. Plain data, checked by
// read_shared_config(): every count is positive and below 2^31, and heads divide as they must.
struct ModelConfig {
  std::string architecture;  // "LlamaForCausalLM" (Hugging Face) or "llama" (GGUF general.architecture)
  std::string name;          // general.name, or the directory's name; may be empty
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t n_layers = 0;
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t head_dim = 0;        // of a query and a key
  std::int64_t value_dim = 0;       // of a value; head_dim unless the file has it
  std::int64_t context_length = 0;  // tokens that the model was trained for
  double norm_eps = 1e-5;
  // Where layers differ, one entry for each; empty where all have what stands above.
  std::vector<std::int64_t> layer_heads, layer_kv_heads, layer_ffn;
  RopeConfig rope;
  std::optional<RopeConfig> sliding_rope;  // of layers with a window, where they rotate otherwise
  std::string activation;                  // as in config.json: "silu", "gelu_new", "gelu_pytorch_tanh", "gelu", ...
  std::int64_t sliding_window = 0;         // tokens, 0 = full attention
  std::vector<bool> layer_uses_window;     // by layer; empty = all layers
  bool tie_word_embeddings = false;        // GGUF: true when output.weight is absent
  bool attention_bias = false, mlp_bias = false;
  bool head_norms = false;   // GGUF: there are norms of heads
  bool second_norm = false;  // GGUF: there is an attn_norm_2
};

}  // namespace millrace::model
