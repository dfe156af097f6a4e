#include "base/counter_rng.h"
#include "decode/processor.h"
#include "decode/sampling_seed.h"
#include "decode/softmax.h"

namespace millrace::decode::processors {
namespace {

// Exclude top choices (text-generation-webui, pull request 6335): at the positions that its coin chooses, all tokens of
// at least the threshold's probability go but the least likely of them; of equal ones that with the highest id stays.
void apply(const SamplingContext& at, Candidates& candidates) {
  const double coin = rng::uniform(seed_for(Purpose::kXtc, at.params.seed), static_cast<std::uint64_t>(at.position), 0);
  if (coin >= at.params.xtc_probability) return;
  thread_local std::vector<double> weights;
  const double total = softmax_weights(candidates, largest_logit(candidates), weights);
  const double least = at.params.xtc_threshold * total;
  std::size_t above = 0, last = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (weights[i] < least) continue;
    if (above == 0 || candidates[i].logit <= candidates[last].logit) last = i;
    ++above;
  }
  if (above < 2) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (weights[i] < least || i == last) candidates[kept++] = candidates[i];
  }
  candidates.resize(kept);
}

}  // namespace

Processor xtc() {
  return {
      .name = "xtc",
      .alias = "",
      .place = 460,
      .stage = Stage::kSample,
      .reads_tokens = false,
      .reads_counts = false,
      .active = [](const SamplingParams& p) { return p.xtc_probability > 0.0 && p.xtc_threshold <= 0.5; },
      .apply = apply,
      .options = {
          {.spec = {.name = "xtc_probability",
                    .high = 1.0,
                    .help = "XTC: probability that, of the tokens above the XTC threshold, all but the least likely "
                            "are removed; 0 = never"},
           .member = &SamplingParams::xtc_probability},
          {.spec = {.name = "xtc_threshold",
                    .high = 1.0,
                    .neutral = 0.1,
                    .help = "XTC: probability above which tokens count as likely; above 0.5 = off"},
           .member = &SamplingParams::xtc_threshold}}};
}

}  // namespace millrace::decode::processors
