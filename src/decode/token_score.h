#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::decode {

inline constexpr int kMaxLogprobs = 20;  // tokens beside the chosen one that a score may list

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0.0f;  // natural logarithm, at most 0; -infinity where the logit is not finite
  bool operator==(const TokenLogprob&) const = default;
};

// How likely a token was by the model's own distribution: log_softmax of its logits as they are, before bias, masks,
// penalties and temperature (vLLM's `raw_logprobs`).
struct TokenScore {
  TokenLogprob chosen;
  std::int64_t rank = 0;          // 1 = most likely: one more than there are tokens more likely than it
  std::vector<TokenLogprob> top;  // as many as were asked for, the most likely first, equal ones by id
  bool operator==(const TokenScore&) const = default;
};

}  // namespace millrace::decode
