#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/adapters/step_adapters.h"
#include "tensor/view.h"

namespace millrace::model {

// Rows that go to a sink at once: enough for the products to be near the machine's peak, 13 MB of logits for a
// vocabulary of 49,152.
inline constexpr std::int64_t kSinkRows = 64;

// Receives the rows of a step that are wanted for other uses than sampling the next token. They come in blocks of
// kSinkRows as they are computed, so that [T, V] logits are never stored. Called on the engine thread while it waits
// for the step; the views are valid during the call.
class LogitsConsumer {
 public:
  virtual ~LogitsConsumer() = default;
  // Logits [n, V] of the rows scored_rows[first, first + n).
  virtual void take_logits(std::int64_t first, const TensorView& logits) = 0;
  // Outputs of the final norm [n, E] of the rows hidden_rows[first, first + n).
  virtual void take_hidden(std::int64_t first, const TensorView& hidden) = 0;
};

struct BatchInput;

// Reads the hidden states of all rows between some layers, for speculators that draft from them. Called on the engine
// thread.
class HiddenStateHook {
 public:
  virtual ~HiddenStateHook() = default;
  // Which layers pass() is called for, ascending; always the same.
  virtual std::span<const std::int64_t> layers() const noexcept = 0;
  // `residual` is the residual stream [T, E] before layer `layer`, or after the last one if layer is the number of
  // layers. The backend may not have computed it yet: use it in operations of the backend, or synchronize before
  // viewing it.
  virtual void pass(std::int64_t layer, const backend::DeviceView& residual) = 0;
  // The step has been computed.
  virtual void computed(const BatchInput& input) = 0;
};

// What one step computes: T tokens of any mix of sequences. Prefill chunks and decode tokens do not differ.
struct BatchInput {
  std::vector<std::int32_t> tokens;              // [T], ids below vocab_size
  std::vector<backend::SequenceRows> sequences;  // consecutive rows each; together they cover [0, T)
  // By sequence, its pages in the layers with a window: numbers of window pages, of which those that no row sees say
  // nothing. Empty where the store has none.
  std::vector<std::span<const std::int32_t>> window_pages;
  // By sequence, the rope_length() of what it may grow to. Empty: that of the longest allowed, for all.
  std::vector<std::int64_t> rope_lengths;
  // Rows with adapters, each of this model, ascending. They outlive the step.
  std::vector<AdapterRange> adapters;
  std::vector<std::int64_t> logit_rows;   // rows whose logits are wanted, ascending
  std::vector<std::int64_t> scored_rows;  // rows whose logits go to `sink`, ascending
  std::vector<std::int64_t> hidden_rows;  // rows whose final hidden states go to `sink`, ascending
  std::vector<std::int64_t> layers;       // indices of the only layers to run, ascending; empty: all
  LogitsConsumer* sink = nullptr;         // outlives the step; null: there are no scored_rows and hidden_rows
  HiddenStateHook* hook = nullptr;        // outlives the step; null: no hook
  // Behind rank 0 of several stages, HiddenStateHook::layers() of rank 0's hook.
  std::vector<std::int64_t> state_layers;
  std::uint64_t number = 0;  // behind rank 0: RankStep::number
};

}  // namespace millrace::model
