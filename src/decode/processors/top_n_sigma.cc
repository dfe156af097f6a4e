#include <cmath>

#include "decode/processor.h"
#include "decode/softmax.h"

namespace millrace::decode::processors {
namespace {

double sum_of_lanes(const double (&lanes)[8]) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// arXiv:2411.07641: drops tokens whose logit is more than n standard deviations (of the logits in play) below the
// largest. What it keeps does not depend on the temperature.
void apply(const SamplingContext& at, Candidates& candidates) {
  const auto n = static_cast<double>(candidates.size());
  double lanes[8] = {};
  for (std::size_t i = 0; i < candidates.size(); ++i) lanes[i % 8] += static_cast<double>(candidates[i].logit);
  const double mean = sum_of_lanes(lanes) / n;
  double squares[8] = {};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double difference = static_cast<double>(candidates[i].logit) - mean;
    squares[i % 8] += difference * difference;
  }
  const double deviation = std::sqrt(sum_of_lanes(squares) / n);
  const double least = static_cast<double>(largest_logit(candidates)) - at.params.top_n_sigma * deviation;
  std::erase_if(candidates, [=](const Candidate& c) { return static_cast<double>(c.logit) < least; });
}

}  // namespace

Processor top_n_sigma() {
  return {
      .name = "top_n_sigma",
      .alias = "",
      .place = 410,
      .stage = Stage::kSample,
      .reads_tokens = false,
      .reads_counts = false,
      .active = [](const SamplingParams& p) { return p.top_n_sigma > 0.0; },
      .apply = apply,
      .options = {
          {.spec = {.name = "top_n_sigma",
                    .low = -1.0,
                    .high = 100.0,
                    .neutral = -1.0,
                    .help =
                        "Top-n-sigma: drop logits more than n standard deviations below the largest; 0 or less = none"},
           .member = &SamplingParams::top_n_sigma}}};
}

}  // namespace millrace::decode::processors
