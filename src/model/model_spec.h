#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/model_config.h"

namespace millrace::model {

// How positions enter the model.
enum class PositionKind { kRope, kLearned };

struct AttentionSpec {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool q_k_norm = false;    // RMSNorm on each query and key head before the rotation (Qwen3)
  float scale = 0.0f;       // of q k^T
  std::int64_t window = 0;  // tokens, 0 = all
};

struct MlpSpec {
  std::int64_t width = 0;
  bool gated = true;  // activation(gate) * up, else activation(up)
  backend::Activation activation = backend::Activation::kSilu;
};

// One transformer layer: x += attention(norm(x)); x += mlp(norm(x)).
struct LayerSpec {
  AttentionSpec attention;
  MlpSpec mlp;
};

// Where each weight is called what. `{}` stands for the layer number; biases end in ".bias", weights in ".weight". An
// empty name: this family has no such weight. Biases are optional unless the family demands them.
struct WeightNames {
  std::string embedding, positions, final_norm, head;
  std::string attention_norm, q, k, v, qkv, o, q_norm, k_norm;
  std::string mlp_norm, gate, up, down;
  std::vector<std::string>
      ignored;  // patterns of tensors that files carry and inference does not need; '*' matches anything
};
WeightNames gguf_names();   // the same for every family
WeightNames llama_names();  // Hugging Face, Llama and its descendants

// A decoder-only transformer as plain data.
struct ModelSpec {
  std::string family;
  std::int64_t vocab_size = 0, hidden_size = 0, context_length = 0;
  backend::NormKind norm = backend::NormKind::kRms;
  float norm_eps = 1e-5f;
  PositionKind positions = PositionKind::kRope;
  double rope_theta = 10000.0;
  std::int64_t rope_dim = 0;
  checkpoint::RopeScaling rope_scaling;
  bool rope_interleaved = false;  // the file keeps Q and K rows as pairs (2i, 2i+1); they are put as halves when loaded
  bool transposed_linears = false;  // the file keeps linear weights as [in, out] (GPT-2's Conv1D)
  bool tied_head = false;
  bool biases = false;  // every linear of the layers has a bias (GPT-2); else biases are used where the file has them
  std::vector<LayerSpec> layers;
  WeightNames names;
};

// A model family: the architectures it answers to and a function from a checkpoint's configuration to its spec. One
// file each in families/, collected by CMake.
struct ModelFamily {
  std::string_view name;
  std::vector<std::string_view> hf;    // "LlamaForCausalLM"
  std::vector<std::string_view> gguf;  // general.architecture
  ModelSpec (*spec)(const checkpoint::ModelConfig& config, checkpoint::Checkpoint::Container container);
};
std::span<const ModelFamily> all_families();  // generated

// The spec for a checkpoint. kUnsupported naming the architecture and the known ones; or the dimension that no kernel
// handles.
Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint, const backend::Limits& limits = {});

// kUnsupported naming a dimension that no kernel handles.
Result<void> check_dimensions(const ModelSpec& spec, const backend::Limits& limits = {});

// What Llama's descendants share; families start here and change what differs.
ModelSpec llama_spec(const checkpoint::ModelConfig& config, checkpoint::Checkpoint::Container container);

// "gelu_new" -> kGeluTanh ...; throws LoadError naming an unknown one.
backend::Activation parse_activation(std::string_view name);

}  // namespace millrace::model
