#include <algorithm>
#include <vector>

#include "base/portable_math.h"
#include "decode/processor.h"
#include "decode/softmax.h"

namespace millrace::decode::processors {
namespace {

// llama.cpp's dynamic temperature: from temperature - range where one token is certain to temperature + range where
// all are equally likely, by the entropy over its maximum to the power of `exponent`.
double dynamic(const SamplingParams& params, const Candidates& candidates) {
  const double low = std::max(0.0, params.temperature - params.dynatemp_range);
  const double high = params.temperature + params.dynatemp_range;
  thread_local std::vector<double> weights;
  const double entropy = entropy_nats(candidates, weights);
  const double share = std::clamp(entropy / portable_log(static_cast<double>(candidates.size())), 1e-300, 1.0);
  return low + (high - low) * portable_exp(params.dynatemp_exponent * portable_log(share));
}

void apply(const SamplingContext& at, Candidates& candidates) {
  double temperature = at.params.temperature;
  if (at.params.dynatemp_range > 0.0 && candidates.size() > 1) temperature = dynamic(at.params, candidates);
  if (temperature == 1.0) return;
  constexpr float kHarmless = 1e6f, kCold = -1e30f;
  const auto inverse = static_cast<float>(std::min(1.0 / temperature, 1e30));
  if (inverse <= kHarmless) {
    for (Candidate& c : candidates) c.logit *= inverse;
    return;
  }
  const float largest = largest_logit(candidates);  // relative to it, lest logits become infinite
  for (Candidate& c : candidates) c.logit = std::max((c.logit - largest) * inverse, kCold);
}

}  // namespace

Processor temperature() {
  return {
      .name = "temperature",
      .alias = "temp",
      .place = 300,
      .stage = Stage::kSample,
      .reads_tokens = false,
      .reads_counts = false,
      .active = [](const SamplingParams& p) { return p.temperature != 1.0 || p.dynatemp_range > 0.0; },
      .apply = apply,
      .options = {
          {.spec = {.name = "temperature",
                    .flags = "--temperature,--temp",
                    .high = kMaxTemperature,
                    .neutral = 1.0,
                    .help = "Sampling temperature, at most 2; 0 = greedy"},
           .member = &SamplingParams::temperature,
           .model_default = true},
          {.spec = {.name = "dynatemp_range",
                    .high = 100.0,
                    .help = "Dynamic temperature: how far the temperature moves up and down with the entropy; 0 = off"},
           .member = &SamplingParams::dynatemp_range},
          {.spec = {.name = "dynatemp_exponent",
                    .flags = "--dynatemp-exp",
                    .high = 100.0,
                    .neutral = 1.0,
                    .help = "Dynamic temperature: exponent of the entropy relative to its maximum"},
           .member = &SamplingParams::dynatemp_exponent}}};
}

}  // namespace millrace::decode::processors
