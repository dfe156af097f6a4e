#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "model/norm_spec.h"

namespace millrace::model {

// Patterns of the names of an attention block's weights, as in WeightNames. If a file has `qkv`, it holds Q, K and V in
// one tensor; `kv`: K and V. Without a name for the norm, attention reads its input without one. `sinks` is a whole
// name.
struct AttentionNames {
  std::string norm, q, k, v, qkv, o, q_norm, k_norm;
  std::string gate, sub_norm, sinks;
  std::string kv = {};
};
AttentionNames gguf_attention_names();
// The names of Llama and its descendants in Hugging Face files. `layer` is the prefix of a layer's names:
// "model.layers.{}.".
AttentionNames llama_attention_names(const std::string& layer);

// How the rows of Q, K and V lie in one tensor.
enum class FusedQkv {
  kStacked,  // all of Q, all of K, all of V
  kGrouped,  // for each key/value head its queries, its key, its value (NeoX, BLOOM, Falcon)
  kQuarters  // four times a quarter of Q, of V, of K (CodeGen)
};

// Norms of each query and each key head.
struct HeadNormParams {
  NormSpec norm;
  bool over_row = false;        // one norm over all heads together (OLMo 2), before the rotation
  bool own_weights = false;     // each head has weights of its own
  bool after_rotation = false;  // (HunYuan)
  float query_factor = 1.0f;    // of the normed queries (Muse Glimmer)
};

enum class OutputGate {
  kNone,
  kChannels,  // one for each channel of each head
  kHeads      // one for each head
};

// Grouped-query attention (arXiv:2305.13245) over paged keys and values: f = o(attention(norm(x))).
struct AttentionParams {
  static constexpr std::string_view kKind = "attention";

  std::int64_t heads = 0, kv_heads = 0;
  std::int64_t head_dim = 0;   // of a query and a key
  std::int64_t value_dim = 0;  // of a value and of a head's output; 0 = head_dim
  NormSpec norm;               // of the input
  std::optional<HeadNormParams> q_k_norm;
  int rope = 0;                         // which of ModelSpec::ropes rotates queries and keys; -1 = they are not rotated
  bool rotary_pairs = false;            // the file has rotated rows as pairs (2i, 2i + 1); loading puts them as halves
  bool scales_query = false;            // by position: ModelSpec::query_scale
  float scale = 0.0f;                   // factor of q k^T
  float softcap = 0.0f;                 // scores s become softcap * tanh(s / softcap); 0 = as they are (Gemma 2)
  float clip = 0.0f;                    // q, k and v are clamped to [-clip, clip] behind norms over rows; 0 = not
  float alibi = 0.0f;                   // factor of the slopes of ALiBi (arXiv:2108.12409); 0 = none
  float alibi_max = 8.0f;               // the steepest slope is 2^(-alibi_max / heads)
  bool sinks = false;                   // each head has a logit of no token (arXiv:2309.17453)
  std::int64_t window = 0;              // a token sees itself and the window - 1 tokens before it; 0 = all
  std::int64_t chunk = 0;               // a token sees those of its own chunk of so many positions; 0 = all
  float value_scale = 1.0f;             // factor of the values (MiMo V2)
  OutputGate gate = OutputGate::kNone;  // factors f(gate(norm(x))) of the heads' output
  backend::GateFunction gate_function = backend::GateFunction::kSigmoid;
  NormSpec sub_norm;  // of the heads' output before o (BitNet), if it has a name
  // Width of BlockRows::input, which attention reads without a norm instead of the residual; 0 = it reads the residual.
  std::int64_t input_width = 0;
  FusedQkv fused = FusedQkv::kStacked;
  // In the file query head h takes key/value head h mod kv_heads; loading puts the heads of a group side by side
  // (PLaMo). Not with anything else that the file has for each query head.
  bool heads_by_turns = false;
  AttentionNames names = {};

  std::int64_t value_head_dim() const noexcept { return value_dim != 0 ? value_dim : head_dim; }
  // Total widths of all heads.
  std::int64_t q_size() const noexcept { return heads * head_dim; }
  std::int64_t k_size() const noexcept { return kv_heads * head_dim; }
  std::int64_t v_size() const noexcept { return kv_heads * value_head_dim(); }
  std::int64_t qkv_size() const noexcept { return q_size() + k_size() + v_size(); }
  std::int64_t output_size() const noexcept { return heads * value_head_dim(); }
  std::int64_t gate_size() const noexcept {
    return gate == OutputGate::kNone ? 0 : gate == OutputGate::kHeads ? heads : output_size();
  }
};

}  // namespace millrace::model
