#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "decode/candidates.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// The one path from a row of logits to a token: penalties, temperature, top-k, top-p, min-p, draw. One per sequence: it
// remembers which tokens were seen. The draw is Gumbel-max over noise of (seed, position, token).
class LogitsPipeline {
 public:
  LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size);

  // Tokens of the prompt, or accepted ones of the answer.
  void observe(std::span<const std::int32_t> tokens);

  // The token for `position` (its index in the whole sequence). kInternal when no logit is a number: never a random
  // token.
  Result<std::int32_t> sample(std::span<const float> logits, std::int64_t position);

 private:
  SamplingParams params_;
  std::vector<bool> seen_;
  Candidates candidates_;
};

}  // namespace millrace::decode
