#include "engine/step_sink.h"

#include <algorithm>

namespace millrace::engine {

StepSink::StepSink(const StepInput& input, StepResult& result) : input_(input), result_(result) {
  result_.scores.resize(input.scored_rows.size());
  result_.sampled.resize(input.sampled_rows.size());
  for (std::size_t i = 0; i < input.scored_rows.size(); ++i) {
    wanted_.push_back({.row = input.scored_rows[i].row, .sampled = false, .index = i});
  }
  for (std::size_t i = 0; i < input.sampled_rows.size(); ++i) {
    wanted_.push_back({.row = input.sampled_rows[i].row, .sampled = true, .index = i});
  }
  std::ranges::sort(wanted_, {}, &Wanted::row);
}

std::vector<std::int64_t> StepSink::logit_rows() const {
  std::vector<std::int64_t> rows;
  for (const Wanted& wanted : wanted_) rows.push_back(wanted.row);
  return rows;
}

void StepSink::take_logits(std::int64_t first, const TensorView& logits) {
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    take_row(wanted_[static_cast<std::size_t>(first + i)], {logits.row(i), static_cast<std::size_t>(logits.cols())});
  }
}

void StepSink::take_row(const Wanted& wanted, std::span<const float> logits) {
  if (wanted.sampled) {
    const StepInput::Sampled& row = input_.sampled_rows[wanted.index];
    if (const auto token = decode::sample_row(row.sampling, logits, row.position)) {
      result_.sampled[wanted.index] = *token;
    }
  } else {
    const StepInput::Scored& row = input_.scored_rows[wanted.index];
    result_.scores[wanted.index] = scorer_.score(logits, row.token, row.top);
  }
}

void StepSink::take_hidden(std::int64_t, const TensorView& hidden) {
  for (std::int64_t i = 0; i < hidden.rows(); ++i) {
    result_.hidden.insert(result_.hidden.end(), hidden.row(i), hidden.row(i) + hidden.cols());
  }
}

}  // namespace millrace::engine
