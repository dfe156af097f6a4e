#include "decode/processor.h"

namespace millrace::decode::processors {
namespace {

void apply(const SamplingContext& at, Candidates& candidates) {
  for (const TokenBias& bias : at.params.logit_bias) {
    if (Candidate* c = find_candidate(candidates, bias.token)) c->logit += bias.bias;
  }
}

}  // namespace

Processor logit_bias() {
  return {.name = "",
          .alias = "",
          .place = 30,
          .stage = Stage::kAdjust,
          .reads_tokens = false,
          .reads_counts = false,
          .active = [](const SamplingParams& p) { return !p.logit_bias.empty(); },
          .apply = apply};
}

}  // namespace millrace::decode::processors
