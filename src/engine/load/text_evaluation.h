#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "decode/divergence.h"
#include "decode/perplexity.h"
#include "engine/load/model_window.h"

namespace millrace::engine::load {

struct TextLoad {
  std::int64_t window = 1024;  // tokens of a window, from 2 to the model's max_length
  // Tokens from the beginning of a window to that of the next one; 0: `window`, less the BOS. A shorter stride scores
  // each token with more of the text before it, and costs window / stride times as much.
  std::int64_t stride = 0;
  std::int64_t chunk = 256;  // tokens computed in a step; changes only the speed
  // Begins each window, and is no token of the text: many models are of no use without theirs (Gemma).
  std::optional<std::int32_t> bos = {};
};

struct TextEvaluation {
  decode::Perplexity perplexity;
  decode::Perplexity reference;   // with a reference: its own
  decode::Divergence divergence;  // with a reference: of the model from it
};

// Scores a text that is cut into windows. Windows are independent: in each, every token but the first is scored given
// those before it, unless an earlier window has scored it. With a reference, which needs the same vocabulary, both
// models score the same rows, chunk by chunk. Throws LoadError (kResourceExhausted) if memory for the pages of a window
// is short.
TextEvaluation evaluate_text(const ScoredModel& scored, const ScoredModel* reference,
                             std::span<const std::int32_t> tokens, const TextLoad& load);

}  // namespace millrace::engine::load
