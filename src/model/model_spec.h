#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/block_spec.h"
#include "model/config/model_config.h"

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

}  // namespace millrace::model
