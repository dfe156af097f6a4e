#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace::model {

// Which linear weights of a generated model's layers have biases, besides those that the family requires.
enum class SynthBiases { kNone, kQkv, kAll };

// The dimensions of a model to be generated. Plain data; those of a published model are from its config.json.
struct SynthShape {
  std::string_view name;
  std::string_view family;  // name in all_families(): "llama", "gemma3"
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0;
  std::int64_t value_dim = 0;  // of a value; 0 = head_dim
  std::int64_t context = 0;    // tokens
  std::int64_t vocab = 0;      // tokens, if no tokenizer is given
  double rope_theta = 10000.0, norm_eps = 1e-5;
  bool tied_head = true;
  // Fields of the family beside these, as JSON objects: of config.json, and of GGUF after "<architecture>."; ":key" is
  // a whole key of GGUF, whose number is said for each layer.
  std::string_view json = {}, gguf = {};
  bool fused = false;  // Q, K and V are one tensor, gate and up another
  SynthBiases biases = SynthBiases::kNone;
  std::string_view like;      // the published model of these dimensions; empty = none
  std::string_view measured;  // the report in docs/performance of its speed beside other engines; empty = none
};

std::span<const SynthShape> synth_shapes();
const SynthShape* find_synth_shape(std::string_view name) noexcept;  // null if there is none

}  // namespace millrace::model
