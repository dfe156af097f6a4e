#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "decode/candidates.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// kInternal: what came out of the computation for this position (an index in the whole sequence) are not numbers.
Error broken_logits(std::int64_t position);

// The one path from a row of logits to a token, in vLLM's order: allowed tokens, bad words, minimum length, bias,
// repetition, presence and frequency penalties; greedy ends here; temperature, min-p, top-k, top-p, draw. One per
// sequence: it remembers which tokens were seen. The draw is Gumbel-max over noise of (seed, position, token).
class LogitsPipeline {
 public:
  // Until the answer has min_tokens, neither stop_token_ids nor those of `end_of_generation` are drawn.
  LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size,
                 std::span<const std::int32_t> end_of_generation = {});

  // Tokens of the prompt.
  void observe(std::span<const std::int32_t> tokens);
  // The next one of the answer.
  void accept(std::int32_t token);

  // The token for `position` (its index in the whole sequence). kInternal when no logit is a number: never a random
  // token. kInvalidArgument when bans leave none.
  Result<std::int32_t> sample(std::span<const float> logits, std::int64_t position);

 private:
  bool gather(std::span<const float> logits);
  bool too_short() const noexcept;
  void ban();

  SamplingParams params_;
  std::vector<std::int32_t> ends_;     // banned while the answer is too short
  std::vector<std::int32_t> allowed_;  // ascending; empty = all
  bool first_largest_;                 // nothing is asked for but that, once the answer may end
  bool counts_answer_;                 // counts_ is needed
  std::vector<bool> seen_;
  std::int64_t answer_tokens_ = 0;
  std::vector<std::int32_t> answer_;  // for bad words
  TokenCounts counts_;                // of the answer
  Candidates candidates_;
  std::vector<float> block_largest_;
};

}  // namespace millrace::decode
