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

// A head of one transformer layer as plain data, with the differences between EAGLE's and those for multi-token
// prediction. From the state s of a token and the embedding e of the next one, each normalized if its norm has a name,
// the layer computes the next token's state; the output head's product with it gives the logits of the token after
// that.
struct SpeculatorSpec {
  // One layer, and the names of its weights. If embedding or head have no name, they are the target's. There is no
  // final_norm, and attention reads its input without a norm.
  model::ModelSpec model;
  std::string token_norm, state_norm;
  std::string projection;   // [E, 2E], applied to s and e side by side. Without a name, attention reads both, and the
                            // residual is s
  bool token_first = true;  // whether e comes before s
  bool normed_residual = false;  // the residual is the normalized s
  bool passes_normed = false;    // the next round's state is the output of the final norm

  std::vector<std::int64_t> layers;  // which states of the target it reads; see StateRecipe
  bool normed_states = false;
  std::string reduction;  // [E, layers * target's E]: projects these states to E; empty: none

  std::int64_t head_rows = 0;             // rows of the head's own output matrix; 0 = it uses the target's
  std::vector<std::int32_t> head_tokens;  // the token of each of those rows; empty: row i is token i
};

// The KV groups of a KvStore for the head's layer.
kv::KvGroups kv_groups(const SpeculatorSpec& spec, const backend::KvFormat& form);

// A loaded head, and memory for the passes of DraftRounds. Const after load; one call at a time.
class FeatureSpeculator {
 public:
  // Throws LoadError naming tensor, expected and found shape.
  FeatureSpeculator(const checkpoint::Checkpoint& checkpoint, SpeculatorSpec spec, const DraftPlace& place);

  const SpeculatorSpec& spec() const noexcept { return spec_; }
  StateRecipe recipe() const;
  std::uint64_t key() const noexcept { return key_; }  // of the weights' content
  std::size_t weight_bytes() const noexcept;
  std::size_t workspace_bytes() const noexcept;

  // Computes a pass. The row at position i is the token at i + 1, and the state at i is read from `states`. Keys and
  // values go to `store`; the predicted states of `logit_rows` go to `states` at their position + 1. Returns logits
  // over the target's vocabulary [logit_rows, V], -inf for tokens that the head does not have.
  TensorView forward(const model::BatchInput& input, StatePages& states, const kv::KvStore& store);

 private:
  void load(const checkpoint::Checkpoint& checkpoint, const DraftPlace& place);
  void reserve(const DraftPlace& place);
  void join(const model::BatchInput& input, StatePages& states);
  void pass_on(const model::BatchInput& input, StatePages& states);
  TensorView spread(const TensorView& logits);

  SpeculatorSpec spec_;
  std::uint64_t key_ = 0;
  model::Transformer& target_;
  backend::Backend& backend_;
  model::NormWeights token_norm_, state_norm_, final_norm_;
  backend::DeviceVector projection_bias_;
  std::unique_ptr<backend::Linear> embedding_, projection_, reduction_, head_;
  std::unique_ptr<model::LayerStack> layer_;
  std::vector<model::Rope> ropes_;

  // Buffers of the step: T rows in all, n of them with logits.
  model::BlockRows rows_;  // the layer's input: what is joined, [T, 2E]
  std::vector<std::int64_t> all_rows_, read_slots_, proposed_slots_;
  std::vector<std::int32_t> positions_;
  std::int64_t space_columns_ = 0;            // of what the layer's blocks keep of a row
  std::int64_t table_columns_ = 0;            // of all rotations
  std::vector<backend::DeviceView> cos_sin_;  // parts of `tables_`, one for each rotation
  RowBuffer residual_, space_, tables_, tokens_, states_, joined_rows_, logits_, passed_;
  backend::HostView host_logits_;  // of the last pass
  std::vector<float> spread_;      // them over the target's vocabulary
};

}  // namespace millrace::draft
