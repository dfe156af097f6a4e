#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/config_view.h"
#include "model/block_spec.h"
#include "model/config/model_config.h"
#include "model/config/shared_config.h"

namespace millrace::model {

// How positions enter the model.
enum class PositionKind { kRope, kLearned };

// Where the weights outside the layers are called what; those of a block are named by its parameters. In names, `{}`
// stands for the layer number; biases end in ".bias", weights in ".weight". An empty name: this family has no such
// weight. Biases are optional unless the family demands them.
struct WeightNames {
  std::string embedding, positions, final_norm, head;
  std::vector<std::string>
      ignored;  // patterns of tensors that files carry and inference does not need; '*' matches anything
};

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
Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint, const backend::Limits& limits = {});

// kUnsupported naming a dimension that no kernel handles.
Result<void> check_dimensions(const ModelSpec& spec, const backend::Limits& limits = {});

}  // namespace millrace::model
