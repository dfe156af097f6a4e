#include "decode/logits_pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/noise.h"
#include "decode/row_statistics.h"

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

// The first of the largest finite logits, or -1 if one is not a number or none is finite.
std::int32_t first_largest(std::span<const float> logits, std::vector<float>& maxima) {
  maxima.resize((logits.size() + kScoreBlock - 1) / kScoreBlock);
  if (block_maxima(logits.data(), logits.size(), maxima.data())) return -1;
  const auto block = std::ranges::max_element(maxima);
  if (*block == -std::numeric_limits<float>::infinity()) return -1;
  const auto begin = logits.begin() + (block - maxima.begin()) * static_cast<std::ptrdiff_t>(kScoreBlock);
  return static_cast<std::int32_t>(std::find(begin, logits.end(), *block) - logits.begin());
}

}  // namespace

Error broken_logits(std::int64_t position) {
  return make_error(ErrorCode::kInternal, "logits", "numerical error: the logits at position {} are not numbers",
                    position);
}

LogitsPipeline::LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size,
                               std::span<const std::int32_t> end_of_generation)
    : params_(params), allowed_(params.allowed_token_ids), seen_(static_cast<std::size_t>(vocab_size), false) {
  if (params.min_tokens > 0) {
    ends_ = params.stop_token_ids;
    ends_.insert(ends_.end(), end_of_generation.begin(), end_of_generation.end());
  }
  std::ranges::sort(allowed_);
  allowed_.erase(std::unique(allowed_.begin(), allowed_.end()), allowed_.end());
  counts_answer_ = params.presence_penalty != 0.0 || params.frequency_penalty != 0.0;
  first_largest_ = params.greedy() && params.repetition_penalty == 1.0 && !counts_answer_ && allowed_.empty() &&
                   params.bad_words.empty() && params.logit_bias.empty();
}

void LogitsPipeline::observe(std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : tokens) seen_[static_cast<std::size_t>(token)] = true;
}

void LogitsPipeline::accept(std::int32_t token) {
  seen_[static_cast<std::size_t>(token)] = true;
  ++answer_tokens_;
  if (counts_answer_) ++counts_[token];
  if (!params_.bad_words.empty()) answer_.push_back(token);
}

// False if one logit is NaN, as then the whole row came out of a broken computation, or none is finite.
bool LogitsPipeline::gather(std::span<const float> logits) {
  candidates_.clear();
  bool nan = false, finite = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    nan = nan || std::isnan(logits[i]);
    finite = finite || std::isfinite(logits[i]);
    if (allowed_.empty() && std::isfinite(logits[i])) {
      candidates_.push_back({static_cast<std::int32_t>(i), logits[i]});
    }
  }
  for (const std::int32_t token : allowed_) {
    const float logit = logits[static_cast<std::size_t>(token)];
    if (std::isfinite(logit)) candidates_.push_back({token, logit});
  }
  return finite && !nan;
}

bool LogitsPipeline::too_short() const noexcept { return !ends_.empty() && answer_tokens_ < params_.min_tokens; }

void LogitsPipeline::ban() {
  if (params_.bad_words.empty() && !too_short()) return;
  ban_bad_words(params_.bad_words, answer_, candidates_);
  if (too_short()) {
    for (const std::int32_t token : ends_) ban_token(candidates_, token);
  }
  std::erase_if(candidates_, [](const Candidate& c) { return std::isinf(c.logit); });
}

Result<std::int32_t> LogitsPipeline::sample(std::span<const float> logits, std::int64_t position) {
  if (first_largest_ && !too_short()) {
    const std::int32_t token = first_largest(logits, block_largest_);
    return token < 0 ? Result<std::int32_t>(broken_logits(position)) : token;
  }
  if (!gather(logits)) return broken_logits(position);
  ban();
  if (candidates_.empty()) {
    return make_error(ErrorCode::kInvalidArgument, allowed_.empty() ? "bad_words" : "allowed_token_ids",
                      "no token may be drawn at position {}: all are banned or not allowed", position);
  }
  apply_logit_bias(params_.logit_bias, candidates_);
  apply_repetition_penalty(params_.repetition_penalty, seen_, candidates_);
  apply_answer_penalties(params_.presence_penalty, params_.frequency_penalty, counts_, candidates_);
  if (params_.greedy()) return likeliest(candidates_).token;
  apply_temperature(params_.temperature, candidates_);
  keep_min_p(params_.min_p, candidates_);
  keep_top_k(params_.top_k, candidates_);
  keep_top_p(params_.top_p, candidates_);
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
