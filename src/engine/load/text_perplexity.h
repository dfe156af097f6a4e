#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "decode/perplexity.h"
#include "model/transformer.h"

namespace millrace::engine::load {

struct PerplexityLoad {
  std::int64_t window = 1024;  // tokens of which each is scored by those before it; at most the model's max_length
  std::int64_t chunk = 256;    // tokens computed in a step: speed alone
  backend::KvFormat pages = {};
};

// The perplexity of a text in windows, each scored from its second token on and knowing nothing of the one before. No
// tokens() where the text has fewer than two. Computes on the calling thread; the transformer is not used meanwhile.
// Throws LoadError (kResourceExhausted) where there is no memory for the pages of a window.
decode::Perplexity measure_perplexity(model::Transformer& transformer, backend::Backend& backend,
                                      std::span<const std::int32_t> tokens, const PerplexityLoad& load);

}  // namespace millrace::engine::load
