#include "decode/candidates.h"

namespace millrace::decode {

void apply_logit_bias(std::span<const TokenBias> biases, Candidates& candidates) {
  for (const TokenBias& bias : biases) {
    if (Candidate* c = find_candidate(candidates, bias.token)) c->logit += bias.bias;
  }
}

}  // namespace millrace::decode
