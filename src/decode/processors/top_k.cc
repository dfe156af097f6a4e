#include "decode/processor.h"
#include "decode/threshold.h"

namespace millrace::decode::processors {
namespace {

// The k likeliest; of equal ones those with the lower ids.
void apply(const SamplingContext& at, Candidates& candidates) {
  if (at.params.top_k >= std::ssize(candidates)) return;
  keep_likeliest(candidates, {}, static_cast<double>(at.params.top_k));
}

}  // namespace

Processor top_k() {
  return {.name = "top_k",
          .alias = "",
          .place = 430,
          .stage = Stage::kSample,
          .reads_tokens = false,
          .reads_counts = false,
          .active = [](const SamplingParams& p) { return p.top_k > 0; },
          .apply = apply};
}

}  // namespace millrace::decode::processors
