#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "decode/beam_search.h"
#include "engine/request.h"

namespace millrace::engine {

// State of a request with beam search. Each beam is a sequence; beams share the pages of their common prefix. They wait
// for each other, then take a step of the search together.
struct BeamRun {
  BeamRun(const decode::BeamOptions& options, int wanted) : search(options), answers(wanted) {}

  decode::BeamSearch search;
  int answers = 1;  // number of best answers to return
  std::vector<TokenScore> prompt_scores;
  // Scores of candidate tokens of beams, by the hash of the answer that ends with the token. Only if logprobs are
  // wanted.
  std::unordered_map<std::uint64_t, TokenScore> scores;
};

}  // namespace millrace::engine
