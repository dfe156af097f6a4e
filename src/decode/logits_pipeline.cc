#include "decode/logits_pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// The first of the largest finite logits, or -1 if one is not a number or none is finite. Eight lanes, so that the
// comparisons need not wait for each other: a vocabulary is read at the speed of its cache.
std::int32_t first_largest(std::span<const float> logits) {
  constexpr std::size_t kLanes = 8;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const auto finite_or_lowest = [](float x) { return x < std::numeric_limits<float>::infinity() ? x : kLowest; };
  float best[kLanes],
      nothing[kLanes] = {};  // nothing: x - x summed up, which is 0 for finite numbers and NaN otherwise
  std::ranges::fill(best, kLowest);
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float x = logits[i + lane];
      best[lane] = x > best[lane] ? x : best[lane];
      nothing[lane] += x - x;
    }
  }
  float largest = kLowest, doubt = 0.0f;
  for (const float x : best) largest = std::max(largest, x);
  for (const float x : nothing) doubt += x;
  for (std::size_t i = whole; i < logits.size(); ++i) {
    largest = std::max(largest, finite_or_lowest(logits[i]));
    doubt += logits[i] - logits[i];
  }
  if (doubt != 0.0f || !(largest < std::numeric_limits<float>::infinity())) {  // rare: infinities or worse
    largest = kLowest;
    for (const float x : logits) {
      if (std::isnan(x)) return -1;
      largest = std::max(largest, finite_or_lowest(x));
    }
  }
  if (largest == kLowest) return -1;
  return static_cast<std::int32_t>(std::ranges::find(logits, largest) - logits.begin());
}

}  // namespace

LogitsPipeline::LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size)
    : params_(params), seen_(static_cast<std::size_t>(vocab_size), false) {}

void LogitsPipeline::observe(std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : tokens) seen_[static_cast<std::size_t>(token)] = true;
}

Result<std::int32_t> LogitsPipeline::sample(std::span<const float> logits, std::int64_t position) {
  const auto broken = [&] {
    return make_error(ErrorCode::kInternal, "logits", "numerical error: the logits at position {} are not numbers",
                      position);
  };
  if (params_.greedy() && params_.repetition_penalty == 1.0) {
    const std::int32_t token = first_largest(logits);
    return token < 0 ? Result<std::int32_t>(broken()) : token;
  }
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) candidates_.push_back({static_cast<std::int32_t>(i), logits[i]});
  }
  // One NaN means the whole row came out of a broken computation.
  bool nan = candidates_.empty();
  for (const float logit : logits) nan = nan || std::isnan(logit);
  if (nan) return broken();

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
