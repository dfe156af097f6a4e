#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "backend/backend.h"
#include "decode/perplexity.h"
#include "model/transformer.h"

namespace millrace::engine::load {

struct PerplexityLoad {
  std::int64_t window = 1024;  // tokens of a window, from 2 to the model's max_length
  std::int64_t chunk = 256;    // tokens computed in a step; changes only the speed
  // Begins each window, and is no token of the text: many models are of no use without theirs (Gemma).
  std::optional<std::int32_t> bos = {};
  backend::KvFormat pages = {};  // of the KV cache
};

// The perplexity of a text that is cut into windows. Windows are independent: in each, every token but the first is
// scored given those before it. tokens() of the result is 0 if there is none to score. Computes on the calling
// thread and the backend's; the transformer must not be used meanwhile. Throws LoadError (kResourceExhausted) if memory
// for the pages of a window is short.
decode::Perplexity measure_perplexity(model::Transformer& transformer, backend::Backend& backend,
                                      std::span<const std::int32_t> tokens, const PerplexityLoad& load);

}  // namespace millrace::engine::load
