#include "decode/logits_pipeline.h"

#include <cmath>

#include "decode/noise.h"

namespace millrace::decode {
namespace {

// The largest; the lowest id among equals.
const Candidate& likeliest(const Candidates& candidates) {
  const Candidate* best = &candidates.front();
  for (const Candidate& c : candidates) {
    if (c.logit > best->logit || (c.logit == best->logit && c.token < best->token)) best = &c;
  }
  return *best;
}

}  // namespace

LogitsPipeline::LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size)
    : params_(params), seen_(static_cast<std::size_t>(vocab_size), false) {}

void LogitsPipeline::observe(std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : tokens) seen_[static_cast<std::size_t>(token)] = true;
}

Result<std::int32_t> LogitsPipeline::sample(std::span<const float> logits, std::int64_t position) {
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) candidates_.push_back({static_cast<std::int32_t>(i), logits[i]});
  }
  // One NaN means the whole row came out of a broken computation.
  bool nan = candidates_.empty();
  for (const float logit : logits) nan = nan || std::isnan(logit);
  if (nan)
    return make_error(ErrorCode::kInternal, "logits", "numerical error: the logits at position {} are not numbers",
                      position);

  apply_repetition_penalty(params_.repetition_penalty, seen_, candidates_);
  if (params_.greedy()) return likeliest(candidates_).token;
  apply_temperature(params_.temperature, candidates_);
  keep_top_k(params_.top_k, candidates_);
  keep_top_p(params_.top_p, candidates_);
  keep_min_p(params_.min_p, candidates_);
  const Candidate* best = nullptr;
  double best_value = 0.0;
  for (const Candidate& c : candidates_) {
    const double value = static_cast<double>(c.logit) + gumbel(params_.seed, static_cast<std::uint64_t>(position),
                                                               static_cast<std::uint64_t>(c.token));
    if (best == nullptr || value > best_value || (value == best_value && c.token < best->token)) {
      best = &c;
      best_value = value;
    }
  }
  return best->token;
}

}  // namespace millrace::decode
