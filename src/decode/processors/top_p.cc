#include "decode/processor.h"
#include "decode/softmax.h"
#include "decode/threshold.h"

namespace millrace::decode::processors {
namespace {

// Nucleus sampling (arXiv:1904.09751): the likeliest tokens until their probabilities sum to p; at least one.
void apply(const SamplingContext& at, Candidates& candidates) {
  if (candidates.size() < 2) return;
  thread_local std::vector<double> weights;
  const double total = softmax_weights(candidates, largest_logit(candidates), weights);
  keep_likeliest(candidates, weights, at.params.top_p * total);
}

}  // namespace

Processor top_p() {
  return {
      .name = "top_p",
      .alias = "",
      .place = 450,
      .stage = Stage::kSample,
      .reads_tokens = false,
      .reads_counts = false,
      .active = [](const SamplingParams& p) { return p.top_p < 1.0; },
      .apply = apply,
      .options = {{.spec = {.name = "top_p",
                            .high = 1.0,
                            .above_low = true,
                            .neutral = 1.0,
                            .help = "Sample only from the smallest set of tokens whose total probability reaches this "
                                    "(nucleus sampling); 1 = all"},
                   .member = &SamplingParams::top_p,
                   .model_default = true}}};
}

}  // namespace millrace::decode::processors
