#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "decode/beam_search.h"
#include "engine/request.h"

namespace millrace::engine {

// A request that is answered by beam search. Its beams are sequences like any others, each with its own pages, shared
// as far as their tokens are; they wait for each other, and together take a step of the search.
struct BeamRun {
  BeamRun(const decode::BeamOptions& options, int wanted) : search(options), answers(wanted) {}

  decode::BeamSearch search;
  int answers = 1;  // the best so many are told
  std::vector<TokenScore> prompt_scores;
  // Scores of each token that some beam could have gone on with, by the hash of the answer up to it; where logprobs are
  // wanted.
  std::unordered_map<std::uint64_t, TokenScore> scores;
};

}  // namespace millrace::engine
