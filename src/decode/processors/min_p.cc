#include "base/portable_math.h"
#include "decode/processor.h"
#include "decode/softmax.h"

namespace millrace::decode::processors {
namespace {

// arXiv:2407.01082: drops tokens whose probability is below p times that of the likeliest.
void apply(const SamplingContext& at, Candidates& candidates) {
  const float threshold = largest_logit(candidates) + static_cast<float>(portable_log(at.params.min_p));
  std::erase_if(candidates, [=](const Candidate& c) { return c.logit < threshold; });
}

}  // namespace

Processor min_p() {
  return {
      .name = "min_p",
      .alias = "",
      .place = 420,
      .stage = Stage::kSample,
      .reads_tokens = false,
      .reads_counts = false,
      .active = [](const SamplingParams& p) { return p.min_p > 0.0; },
      .apply = apply,
      .options = {
          {.spec = {.name = "min_p",
                    .high = 1.0,
                    .help =
                        "Drop tokens less likely than this fraction of the most likely token's probability; 0 = none"},
           .member = &SamplingParams::min_p,
           .model_default = true}}};
}

}  // namespace millrace::decode::processors
