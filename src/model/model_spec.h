#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/config_view.h"
#include "model/config/model_config.h"
#include "model/config/shared_config.h"

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
  RopeScaling rope_scaling;
  bool rope_interleaved = false;  // the file keeps Q and K rows as pairs (2i, 2i+1); they are put as halves when loaded
  bool transposed_linears = false;  // the file keeps linear weights as [in, out] (GPT-2's Conv1D)
  bool tied_head = false;
  bool biases = false;  // every linear of the layers has a bias (GPT-2); else biases are used where the file has them
  std::vector<LayerSpec> layers;
  WeightNames names;
  std::vector<std::string> unread_fields;  // of the configuration: there, and known to no family
};

// A model family: the architectures it answers to, what its class takes for granted, and a function from a checkpoint's
// configuration to its spec. What all families share is read before (shared_config.h); spec() asks the view for the
// fields of its own, which it lists: where such a field is there and says something, no other family loads over it. One
// file each in families/, collected by CMake.
struct ModelFamily {
  std::string_view name;
  std::vector<std::string_view> hf;    // "LlamaForCausalLM"
  std::vector<std::string_view> gguf;  // general.architecture
  ConfigDefaults defaults = {};
  std::vector<checkpoint::ConfigField> fields = {};  // of its own
  ModelSpec (*spec)(checkpoint::ConfigView& view, const ModelConfig& config,
                    checkpoint::Checkpoint::Container container);
};
std::span<const ModelFamily> all_families();  // generated

// Null: no family answers to it.
const ModelFamily* find_family(std::string_view architecture, bool gguf);

// The spec for a checkpoint. kUnsupported naming the architecture and the known ones; or the dimension that no kernel
// handles; or the field of the configuration that the family does not understand and another one does.
Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint);

// kUnsupported naming a dimension that no kernel handles.
Result<void> check_dimensions(const ModelSpec& spec);

// What Llama's descendants share; families start here and change what differs.
ModelSpec llama_spec(checkpoint::ConfigView& view, const ModelConfig& config,
                     checkpoint::Checkpoint::Container container);
ModelSpec llama_spec(const ModelConfig& config, checkpoint::Checkpoint::Container container);

// "gelu_new" -> kGeluTanh ...; throws LoadError naming an unknown one.
backend::Activation parse_activation(std::string_view name);

}  // namespace millrace::model
