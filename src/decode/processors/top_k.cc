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
          .apply = apply,
          .options = {{.spec = {.name = "top_k",
                                .kind = OptionSpec::Kind::kWhole,
                                .low = -1.0,
                                .high = 1 << 30,
                                .rule = "-1, 0 (all) or a count",
                                .help = "Sample only from the k most likely tokens; 0 or -1 = all"},
                       .member = &SamplingParams::top_k,
                       .model_default = true}}};
}

}  // namespace millrace::decode::processors
