#include <cmath>

#include "base/portable_math.h"
#include "decode/processor.h"
#include "decode/softmax.h"
#include "decode/threshold.h"

namespace millrace::decode::processors {
namespace {

// Locally typical sampling (arXiv:2202.00666): the tokens whose surprise is nearest to the entropy until their
// probabilities sum to p; of equally near ones those with the lower ids. Nearness as a float.
void apply(const SamplingContext& at, Candidates& candidates) {
  if (candidates.size() < 2) return;
  thread_local std::vector<double> weights;
  thread_local std::vector<std::uint32_t> keys;
  const double entropy = entropy_nats(candidates, weights);
  const double largest = static_cast<double>(largest_logit(candidates));
  double total = 0.0;
  for (const double weight : weights) total += weight;
  const double log_total = portable_log(total);
  keys.resize(candidates.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double surprise = log_total - (static_cast<double>(candidates[i].logit) - largest);
    keys[i] = ordered_key(-static_cast<float>(std::abs(surprise - entropy)));
  }
  keep_above(find_threshold(keys, weights, at.params.typical_p * total), keys, candidates);
}

}  // namespace

Processor typical_p() {
  return {.name = "typ_p",
          .alias = "typical_p",
          .place = 440,
          .stage = Stage::kSample,
          .reads_tokens = false,
          .reads_counts = false,
          .active = [](const SamplingParams& p) { return p.typical_p < 1.0; },
          .apply = apply,
          .options = {
              {.spec = {.name = "typical_p",
                        .flags = "--typical-p,--typical",
                        .high = 1.0,
                        .above_low = true,
                        .neutral = 1.0,
                        .help = "Typical sampling: sample from the tokens of this total probability whose surprise is "
                                "nearest to the entropy; 1 = all"},
               .member = &SamplingParams::typical_p}}};
}

}  // namespace millrace::decode::processors
