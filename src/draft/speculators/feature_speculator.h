#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "draft/drafter.h"
#include "draft/speculators/row_buffer.h"
#include "draft/speculators/state_pages.h"
#include "model/layer_stack.h"
#include "model/rope.h"

namespace millrace::draft {

// A head of one transformer layer as plain data: what EAGLE's and those for multi-token prediction differ in. Of the
// state s of a token and the embedding e of the next one, each behind its norm if it has a name, the layer makes the
// next token's state, and a product of that the logits of the token behind it.
struct SpeculatorSpec {
  // One layer, and the names of its weights. Without a name, embedding and head are the target's; there is no
  // final_norm; and attention looks at its input as it is.
  model::ModelSpec model;
  std::string token_norm, state_norm;
  std::string projection;        // [E, 2E]: the layer's input is made of both side by side...
  bool token_first = true;       // ...in this order. Without a name attention looks at both, and the residual is s...
  bool normed_residual = false;  // ...behind its norm
  bool passes_normed = false;    // what goes for a state in the next round is the final norm's output

  std::vector<std::int64_t> layers;  // which states of the target: see StateRecipe
  bool normed_states = false;
  std::string reduction;  // [E, layers * target's E], to E; empty: none

  std::int64_t head_rows = 0;             // of a head of its own
  std::vector<std::int32_t> head_tokens;  // that those rows stand for; empty: 0, 1, 2 ...
};

// What a KvStore for its layer must be like.
kv::KvGroups kv_groups(const SpeculatorSpec& spec, const backend::KvFormat& form);

// Its weights, beside the target that it serves, and memory for the passes of DraftRounds. Const after load; one call
// at a time.
class FeatureSpeculator {
 public:
  // Throws LoadError naming tensor, expected and found.
  FeatureSpeculator(const checkpoint::Checkpoint& checkpoint, SpeculatorSpec spec, const DraftPlace& place);

  const SpeculatorSpec& spec() const noexcept { return spec_; }
  StateRecipe recipe() const;
  std::size_t weight_bytes() const noexcept;
  std::size_t workspace_bytes() const noexcept;

  // The row at position i is of the token at i + 1, and the state at i is read from `states`. Keys and values go into
  // `store`; what the rows of `logit_rows` make of the next state becomes a draft token at their position + 1. Returns
  // logits over the target's vocabulary [logit_rows, V], -inf for tokens that the head does not know.
  TensorView forward(const model::BatchInput& input, StatePages& states, const kv::KvStore& store);

 private:
  void load(const checkpoint::Checkpoint& checkpoint, const DraftPlace& place);
  void reserve(const DraftPlace& place);
  void join(const model::BatchInput& input, StatePages& states);
  void pass_on(const model::BatchInput& input, StatePages& states);
  TensorView spread(const TensorView& logits);
  backend::Norm view(const model::NormWeights& norm) const { return norm.view(spec_.model); }

  SpeculatorSpec spec_;
  model::Transformer& target_;
  backend::Backend& backend_;
  model::NormWeights token_norm_, state_norm_, final_norm_;
  backend::DeviceVector projection_bias_;
  std::unique_ptr<backend::Linear> embedding_, projection_, reduction_, head_;
  std::unique_ptr<model::LayerStack> layer_;
  std::unique_ptr<model::Rope> rope_;

  // Buffers of the step: T rows in all, n of them with logits.
  model::BlockRows rows_;  // the layer's input: what is joined, [T, 2E]
  std::vector<std::int64_t> all_rows_, read_slots_, proposed_slots_;
  std::vector<std::int32_t> positions_;
  std::int64_t space_columns_ = 0;  // of what the layer's blocks keep of a row
  RowBuffer residual_, space_, cos_sin_, tokens_, states_, joined_rows_, logits_, passed_;
  backend::HostView host_logits_;  // of the last pass
  std::vector<float> spread_;      // them over the target's vocabulary
};

}  // namespace millrace::draft
