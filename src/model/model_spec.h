#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/block_spec.h"
#include "model/config/model_config.h"

namespace millrace::model {

// How the model encodes positions.
enum class PositionKind { kRope, kLearned };

// Names of the weights outside the layers; a block's weights are named by its parameters. In names, `{}` stands for the
// layer number. Biases end in ".bias", weights in ".weight". An empty name: the family has no such weight. Biases are
// optional unless the family requires them.
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
  // The file stores the rows of Q and K as pairs (2i, 2i+1); loading reorders them to halves.
  bool rope_interleaved = false;
  bool transposed_linears = false;  // the file stores linear weights as [in, out] (GPT-2's Conv1D)
  bool tied_head = false;
  // Every linear weight of the layers has a bias (GPT-2); if false, biases are used where the file has them.
  bool biases = false;
  std::vector<LayerSpec> layers;
  WeightNames names;
  std::vector<std::string> unread_fields;  // fields set in the configuration that no family knows
};

}  // namespace millrace::model
