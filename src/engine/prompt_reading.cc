#include "engine/prompt_reading.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"
#include "decode/logits_pipeline.h"

namespace millrace::engine {

std::unique_ptr<PromptReading> PromptReading::of(const Request& request) {
  if (!request.embed && !request.prompt_logprobs) return nullptr;
  auto reading = std::make_unique<PromptReading>();
  reading->embed_ = request.embed;
  reading->pooling_ = request.pooling;
  if (!request.embed) reading->logprobs_ = request.prompt_logprobs;
  return reading;
}

std::int64_t PromptReading::shareable_tokens(std::int64_t prompt_tokens) const noexcept {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  if (logprobs_) {
    const auto scored = static_cast<std::int64_t>(scores_.size());
    return scored + 1 < prompt_tokens ? scored : kAll;
  }
  return pooling_ == Pooling::kMean && state_rows_ < prompt_tokens ? state_rows_ : kAll;
}

std::vector<float> PromptReading::take_embedding() {
  double squares = 0.0;
  for (const double x : state_sum_) squares += x * x;
  const double scale = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;  // of the sum as of the mean
  std::vector<float> embedding;
  embedding.reserve(state_sum_.size());
  for (const double x : state_sum_) embedding.push_back(static_cast<float>(x * scale));
  return embedding;
}

void PromptRows::add(const PromptReading& reading, const sched::StepRow& row, std::int64_t first_row,
                     StepInput& input) {
  const sched::Sequence& sequence = *row.sequence;
  const std::int64_t prompt = sequence.prompt_tokens, end = std::min(row.first + row.n_tokens, prompt);
  const auto row_of = [&](std::int64_t position) { return first_row + position - row.first; };
  if (reading.logprobs_) {
    // After a preemption rows are computed again that have been scored.
    const auto scored = static_cast<std::int64_t>(reading.scores_.size());
    for (std::int64_t p = std::max(row.first, scored); p < std::min(end, prompt - 1); ++p) {
      input.scored_rows.push_back(
          {.row = row_of(p), .token = sequence.tokens[static_cast<std::size_t>(p) + 1], .top = *reading.logprobs_});
      scored_.push_back({&reading, p});
    }
  }
  if (reading.embed_) {
    const std::int64_t wanted = reading.pooling_ == Pooling::kMean ? reading.state_rows_ : prompt - 1;
    for (std::int64_t p = std::max(row.first, wanted); p < end; ++p) {
      input.hidden_rows.push_back(row_of(p));
      hidden_.push_back({&reading, p});
    }
  }
}

Result<void> PromptRows::deliver(PromptReading& reading, const StepResult& result) const {
  for (std::size_t i = 0; i < scored_.size(); ++i) {
    if (scored_[i].reading != &reading) continue;
    CHECK_EQ(scored_[i].position, static_cast<std::int64_t>(reading.scores_.size()));
    if (!result.scores[i]) return decode::broken_logits(scored_[i].position);
    reading.scores_.push_back(*result.scores[i]);
  }
  const std::size_t width = hidden_.empty() ? 0 : result.hidden.size() / hidden_.size();
  for (std::size_t row = 0; row < hidden_.size(); ++row) {
    if (hidden_[row].reading != &reading) continue;
    reading.state_sum_.resize(width, 0.0);
    for (std::size_t i = 0; i < width; ++i) {
      const auto value = static_cast<double>(result.hidden[row * width + i]);
      if (!std::isfinite(value)) return decode::broken_logits(hidden_[row].position);
      reading.state_sum_[i] += value;
    }
    ++reading.state_rows_;
  }
  return {};
}

}  // namespace millrace::engine
