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
                     model::BatchInput& input) {
  const sched::Sequence& sequence = *row.sequence;
  const std::int64_t prompt = sequence.prompt_tokens, end = std::min(row.first + row.n_tokens, prompt);
  const auto row_of = [&](std::int64_t position) { return first_row + position - row.first; };
  if (reading.logprobs_) {
    // After a preemption rows are computed again that have been scored.
    const auto scored = static_cast<std::int64_t>(reading.scores_.size());
    for (std::int64_t p = std::max(row.first, scored); p < std::min(end, prompt - 1); ++p) {
      input.scored_rows.push_back(row_of(p));
      scored_.push_back({&reading, sequence.tokens[static_cast<std::size_t>(p) + 1], p, {}});
    }
  }
  if (reading.embed_) {
    const std::int64_t wanted = reading.pooling_ == Pooling::kMean ? reading.state_rows_ : prompt - 1;
    for (std::int64_t p = std::max(row.first, wanted); p < end; ++p) {
      input.hidden_rows.push_back(row_of(p));
      states_.push_back({&reading, p, {}});
    }
  }
  input.sink = this;
}

void PromptRows::take_logits(std::int64_t first, const TensorView& logits) {
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    Scored& scored = scored_[static_cast<std::size_t>(first + i)];
    const std::span<const float> row(logits.row(i), static_cast<std::size_t>(logits.cols()));
    scored.score = scorer_.score(row, scored.token, *scored.reading->logprobs_);
  }
}

void PromptRows::take_hidden(std::int64_t first, const TensorView& hidden) {
  for (std::int64_t i = 0; i < hidden.rows(); ++i) {
    states_[static_cast<std::size_t>(first + i)].values.assign(hidden.row(i), hidden.row(i) + hidden.cols());
  }
}

Result<void> PromptRows::deliver(PromptReading& reading) {
  for (Scored& scored : scored_) {
    if (scored.reading != &reading) continue;
    CHECK_EQ(scored.position, static_cast<std::int64_t>(reading.scores_.size()));
    if (!scored.score) return decode::broken_logits(scored.position);
    reading.scores_.push_back(std::move(*scored.score));
  }
  for (const State& state : states_) {
    if (state.reading != &reading) continue;
    reading.state_sum_.resize(state.values.size(), 0.0);
    for (std::size_t i = 0; i < state.values.size(); ++i) {
      const auto value = static_cast<double>(state.values[i]);
      if (!std::isfinite(value)) return decode::broken_logits(state.position);
      reading.state_sum_[i] += value;
    }
    ++reading.state_rows_;
  }
  return {};
}

}  // namespace millrace::engine
