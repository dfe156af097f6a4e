#pragma once

#include "decode/token_scorer.h"
#include "engine/step_input.h"
#include "model/batch_input.h"

namespace millrace::engine {

// Takes the scored and hidden rows of a step as a model computes them, in blocks, into the step's result.
class ScoreRows final : public model::LogitsConsumer {
 public:
  ScoreRows(const StepInput& input, StepResult& result) : input_(input), result_(result) {
    result_.scores.resize(input.scored_rows.size());
  }

  void take_logits(std::int64_t first, const TensorView& logits) override {
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
      const auto at = static_cast<std::size_t>(first + i);
      const StepInput::Scored& wanted = input_.scored_rows[at];
      result_.scores[at] =
          scorer_.score({logits.row(i), static_cast<std::size_t>(logits.cols())}, wanted.token, wanted.top);
    }
  }
  void take_hidden(std::int64_t, const TensorView& hidden) override {  // in order
    for (std::int64_t i = 0; i < hidden.rows(); ++i) {
      result_.hidden.insert(result_.hidden.end(), hidden.row(i), hidden.row(i) + hidden.cols());
    }
  }

 private:
  const StepInput& input_;
  StepResult& result_;
  decode::TokenScorer scorer_;
};

}  // namespace millrace::engine
