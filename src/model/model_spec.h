#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "model/block_spec.h"
#include "model/config/model_config.h"

namespace millrace::model {

// How the model encodes positions, besides what its attention does with them.
enum class PositionKind {
  kNone,        // by rotation or slopes in attention, if at all
  kLearned,     // a row of weights for each position is added to the embedding
  kSinusoidal,  // so is a computed one: sines, then cosines, of arXiv:1706.03762's frequencies
};

// Names of the weights outside the layers; a block's weights are named by its parameters. In names, `{}` stands for the
// layer number. Biases end in ".bias", weights in ".weight". An empty name: the family has no such weight. Biases are
// optional unless the family requires them.
struct WeightNames {
  std::string embedding, positions, final_norm, head;
  std::string embedding_norm;           // of the sum of embedding and position
  std::string project_in, project_out;  // between embeddings of another size and the layers (OPT 350M)
  std::vector<std::string>
      ignored;  // patterns of tensors that files carry and inference does not need; '*' matches anything
  // Beginnings of names that this file spells otherwise: {"model.", "language_model.model."}. The first that fits
  // counts.
  std::vector<std::pair<std::string, std::string>> renamed;

  // The name in the file.
  std::string in_file(const std::string& name) const;
};

// A decoder-only transformer as plain data.
struct ModelSpec {
  std::string family;
  std::int64_t vocab_size = 0, hidden_size = 0, context_length = 0;
  std::int64_t embedding_size = 0;  // of a row of the embedding; 0 = hidden_size
  float embedding_scale = 1.0f;     // factor of the rows of the embedding
  NormSpec embedding_norm;          // if names.embedding_norm
  PositionKind positions = PositionKind::kNone;
  std::int64_t position_offset = 0;  // rows of the table of learned positions before the one of position 0 (OPT: 2)
  std::vector<RopeConfig> ropes;     // the rotations that attention blocks choose from
  std::optional<backend::PositionScale> query_scale;  // of blocks whose queries are scaled by position
  NormSpec final_norm;
  bool tied_head = false;
  bool unit_head = false;    // the rows of the head are taken as unit vectors (Baichuan 2)
  float logit_scale = 1.0f;  // logits = cap(scale * head(x)) with cap(s) = softcap * tanh(s / softcap)
  float logit_softcap = 0.0f;
  bool transposed_linears = false;  // the file stores linear weights as [in, out] (GPT-2's Conv1D)
  // Every linear weight of the layers has a bias (GPT-2); if false, biases are used where the file has them.
  bool biases = false;
  std::vector<LayerSpec> layers;
  WeightNames names;
  std::vector<std::string> unread_fields;  // fields set in the configuration that no family knows

  std::int64_t embedding_width() const noexcept { return embedding_size > 0 ? embedding_size : hidden_size; }
};

}  // namespace millrace::model
