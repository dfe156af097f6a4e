#pragma once

#include <string>
#include <string_view>

#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"
#include "model/model_family.h"

namespace millrace::model {

// The spec of Llama and its descendants: layers of attention and a gated MLP. Families start from it and change what
// differs. GGUF files are taken to have Q and K as halves, unless keep_rotary_pairs() says otherwise.
ModelSpec llama_spec(const ModelConfig& config, bool gguf);
// llama_spec() for families that read no fields of their own.
ModelSpec llama_spec(checkpoint::ConfigView& view, const ModelConfig& config);

// Values of the class of Llama, which others took over unchanged (TextType::json).
inline constexpr std::string_view kLlamaSizes = R"({"vocab_size": 32000, "hidden_size": 4096,
    "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048})";

// Names the weights of a layer of such a model; `prefix` is what precedes the names: "model.layers.{}.". MTP layers use
// it with a prefix of their own.
void name_llama_layer(LayerSpec& layer, const std::string& prefix);

// Maps config.json's name to an activation: "gelu_new" to kGeluTanh. Throws LoadError naming an unknown one.
backend::Activation parse_activation(std::string_view name);

// What families change, in all layers.
template <typename Change>
void each_attention(ModelSpec& spec, const Change& change) {
  for (LayerSpec& layer : spec.layers) {
    for (BlockSpec& block : layer.blocks) {
      if (auto* params = block.find<AttentionParams>()) change(*params);
    }
  }
}
template <typename Change>
void each_mlp(ModelSpec& spec, const Change& change) {
  for (LayerSpec& layer : spec.layers) {
    for (BlockSpec& block : layer.blocks) {
      if (auto* params = block.find<MlpParams>()) change(*params);
    }
  }
}
// Changes every norm that the spec has so far: of the blocks' inputs, outputs and heads, and the final one.
template <typename Change>
void each_norm(ModelSpec& spec, const Change& change) {
  change(spec.final_norm);
  change(spec.embedding_norm);
  for (LayerSpec& layer : spec.layers) {
    for (BlockSpec& block : layer.blocks) {
      change(block.output.norm);
      change(block.output.sum_norm);
    }
  }
  each_attention(spec, [&](AttentionParams& a) {
    change(a.norm);
    change(a.sub_norm);
    if (a.q_k_norm) change(a.q_k_norm->norm);
  });
  each_mlp(spec, [&](MlpParams& m) {
    change(m.norm);
    change(m.sub_norm);
  });
}

// All norms are layer norms.
void use_layer_norms(ModelSpec& spec, bool bias);
// All norms have 1 + the stored weight; in GGUF the sum is stored.
void use_offset_norms(ModelSpec& spec, bool gguf);
// The file has the rotated rows of Q and K as pairs.
void keep_rotary_pairs(ModelSpec& spec);
// RMSNorm on each query and each key head before the rotation.
void add_head_norms(ModelSpec& spec);
// Norms of what attention and MLP give, in front of the residual; GGUF has its own names for them.
void add_post_norms(ModelSpec& spec, bool gguf, const std::string& attention, const std::string& mlp);
// Blocks read the residual without a norm in front.
void drop_input_norms(ModelSpec& spec);
// Queries and keys are not rotated.
void rotate_nothing(ModelSpec& spec);
// Positions are rows of a table, and nothing is rotated.
void use_learned_positions(ModelSpec& spec);
// Layer i rotates by thetas[i]; by 0: not at all.
void rotate_layers_by(ModelSpec& spec, const std::vector<double>& thetas);
// All outputs of blocks are multiplied.
void scale_residual(ModelSpec& spec, float factor);
// x += attention(norm(x)) + mlp(norm(x)), each behind its own norm, or both behind attention's.
void run_in_parallel(ModelSpec& spec);
void run_behind_one_norm(ModelSpec& spec);

}  // namespace millrace::model
