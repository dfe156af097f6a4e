#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::model {

// Position scaling of rotary embeddings, from Hugging Face's `rope_scaling` or `rope_parameters`, or GGUF's
// `rope.scaling.*`.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kDynamic, kYarn, kLlama3 };
  Kind kind = Kind::kNone;
  double factor = 1.0;
  std::int64_t original_context = 0;                     // tokens; 0 = the model's context length
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn
  std::optional<double> attention_factor;                // yarn; unset = 0.1 ln(factor) + 1
  std::optional<double> mscale, mscale_all_dim;          // yarn
  bool truncate = true;                                  // yarn: round the correction range to integers
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
  double rope_theta = 10000.0;
  std::int64_t rope_dim = 0;  // rotated dimensions of a head; head_dim unless the file has fewer
  RopeScaling rope_scaling;
  std::string activation;               // as in config.json: "silu", "gelu_new", "gelu_pytorch_tanh", "gelu", ...
  std::int64_t sliding_window = 0;      // tokens, 0 = full attention
  std::vector<bool> layer_uses_window;  // by layer; empty = all layers
  bool tie_word_embeddings = false;     // GGUF: true when output.weight is absent
  bool attention_bias = false, mlp_bias = false;
};

}  // namespace millrace::model
