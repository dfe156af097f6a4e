#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "engine/step_input.h"
#include "sched/step_plan.h"

namespace millrace::engine {

// Collects what a request wants of its prompt: logprobs of its tokens, or an embedding. Rows of the prompt are
// delivered in order. If every row is needed, the prefix cache may not replace computing them: shareable_tokens().
// Engine thread.
class PromptReading {
 public:
  // Null if the request wants neither.
  static std::unique_ptr<PromptReading> of(const Request& request);

  bool embeds() const noexcept { return embed_; }
  // How many of the first prompt tokens the prefix cache may supply.
  std::int64_t shareable_tokens(std::int64_t prompt_tokens) const noexcept;
  std::vector<TokenScore> take_scores() { return std::move(scores_); }
  // The embedding [E], normalised to length 1. Call it once, after the whole prompt.
  std::vector<float> take_embedding();
  // Whether a state read from a snapshot is possible for a prompt of `prompt_tokens` tokens.
  bool plausible(std::int64_t prompt_tokens) const noexcept {
    return std::ssize(scores_) < std::max<std::int64_t>(prompt_tokens, 1) && state_rows_ >= 0 &&
           state_rows_ <= prompt_tokens && (state_rows_ == 0) == state_sum_.empty();
  }

  template <typename Archive>
  friend void visit_fields(Archive& archive, PromptReading& reading) {
    archive(reading.logprobs_, reading.embed_, reading.pooling_, reading.scores_, reading.state_sum_,
            reading.state_rows_);
  }

 private:
  friend class PromptRows;
  std::optional<int> logprobs_;
  bool embed_ = false;
  Pooling pooling_ = Pooling::kLast;
  std::vector<TokenScore> scores_;
  std::vector<double> state_sum_;  // of state_rows_ rows
  std::int64_t state_rows_ = 0;
};

// Which of a step's scored and hidden rows belong to which PromptReading. One object for each step.
class PromptRows {
 public:
  // Adds to `input` the scored and hidden rows that `reading` needs of the plan's row. The row's tokens must be in
  // `input` already, from row `first_row` on.
  void add(const PromptReading& reading, const sched::StepRow& row, std::int64_t first_row, StepInput& input);
  // Passes the step's results to `reading`. kInternal if a score or state is not a number.
  Result<void> deliver(PromptReading& reading, const StepResult& result) const;

 private:
  struct Wanted {
    const PromptReading* reading;
    std::int64_t position;  // of the row
  };
  std::vector<Wanted> scored_, hidden_;  // by scored row, by hidden row
};

}  // namespace millrace::engine
