#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace::model {

// The dimensions of a model to be generated. Plain data; those of a published model are from its config.json.
struct SynthShape {
  std::string_view name;
  std::string_view family;  // name in all_families(), of one without biases: "llama", "gemma3"
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0;
  std::int64_t value_dim = 0;  // of a value; 0 = head_dim
  std::int64_t context = 0;    // tokens
  std::int64_t vocab = 0;      // tokens, if no tokenizer is given
  double rope_theta = 10000.0, norm_eps = 1e-5;
  bool tied_head = true;
  // Fields of the family beside these, as JSON objects: of config.json, and of GGUF after "<architecture>.".
  std::string_view json = {}, gguf = {};
  bool fused = false;     // Q, K and V are one tensor, gate and up another
  std::string_view like;  // the published model of these dimensions; empty = none
};

std::span<const SynthShape> synth_shapes();
const SynthShape* find_synth_shape(std::string_view name) noexcept;  // null if there is none

}  // namespace millrace::model
