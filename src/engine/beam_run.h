#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "decode/beam_search.h"
#include "engine/request.h"

namespace millrace::engine {

// The state of one beam search. Each live beam is a sequence with a block table of its own; beams share the pages of
// the tokens that they have in common. All beams of a search take a step of it together. Engine thread only.
struct BeamRun {
  BeamRun(const decode::BeamOptions& options, int wanted) : search(options), answers(wanted) {}

  decode::BeamSearch search;
  int answers = 1;  // how many of the best hypotheses become outputs, [1, kMaxChoices]
  std::vector<TokenScore> prompt_scores;
  // Scores of the tokens that beams continued with, by the hash of the answer up to and including the token. Kept only
  // if the request asks for logprobs.
  std::unordered_map<std::uint64_t, TokenScore> scores;
};

}  // namespace millrace::engine
