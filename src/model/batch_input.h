#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "tensor/view.h"

namespace millrace::model {

// Takes the rows of a step that are wanted for something else than sampling the next token, in blocks as they are
// computed: [T, V] logits are never kept. Called while the step is waited for, on the engine thread; the views are
// valid during the call.
class LogitsConsumer {
 public:
  virtual ~LogitsConsumer() = default;
  // Logits [n, V] of scored_rows[first, first + n).
  virtual void take_logits(std::int64_t first, const TensorView& logits) = 0;
  // Outputs of the final norm [n, E] of hidden_rows[first, first + n).
  virtual void take_hidden(std::int64_t first, const TensorView& hidden) = 0;
};

struct BatchInput;

// Sees the states of all rows on their way through the layers: for speculators that draft from them. On the engine's
// thread.
class HiddenStateHook {
 public:
  virtual ~HiddenStateHook() = default;
  // The residual stream [T, E] as layer `layer` will find it, or behind the last one, [0, layers]. The backend has not
  // computed it yet: take it with an operation of the backend, or synchronize and view it.
  virtual void pass(std::int64_t layer, const backend::DeviceView& residual) = 0;
  // Everything is computed.
  virtual void computed(const BatchInput& input) = 0;
};

// What one step computes: T tokens of any mix of sequences, prefill chunks and decode tokens alike.
struct BatchInput {
  std::vector<std::int32_t> tokens;              // [T], ids below vocab_size
  std::vector<backend::SequenceRows> sequences;  // consecutive rows each; together they cover [0, T)
  std::vector<std::int64_t> logit_rows;          // rows whose logits are wanted, ascending
  std::vector<std::int64_t> scored_rows;         // rows whose logits go to the sink, ascending
  std::vector<std::int64_t> hidden_rows;         // rows whose final hidden states go there, ascending
  std::vector<std::int64_t> layers;              // run no others, ascending; empty: all
  LogitsConsumer* sink = nullptr;                // outlives the step; null where nothing goes there
  HiddenStateHook* hook = nullptr;               // outlives the step; null: no hook
};

}  // namespace millrace::model
