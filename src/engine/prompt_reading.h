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

// What a request wants of its prompt besides an answer: scores of the tokens (prompt_logprobs), or an embedding.
// Collects results row by row, in order. If every row counts, rows that it lacks must be computed, even if the prefix
// cache has their pages. Engine thread only.
class PromptReading {
 public:
  // Null if the request wants neither.
  static std::unique_ptr<PromptReading> of(const Request& request);

  bool embeds() const noexcept { return embed_; }
  // The number of first prompt tokens that may come from the prefix cache (Sequence::shareable_tokens).
  std::int64_t shareable_tokens(std::int64_t prompt_tokens) const noexcept;
  std::vector<TokenScore> take_scores() { return std::move(scores_); }  // prompt_tokens - 1; once, when all are there
  // [E], of Euclidean norm 1, or 0 if all states are 0. Once, when all rows are there.
  std::vector<float> take_embedding();
  // Whether the progress is possible for a prompt of `prompt_tokens` tokens. For imported snapshots.
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
  std::vector<double> state_sum_;  // [E], sum of the hidden states of state_rows_ rows
  std::int64_t state_rows_ = 0;
};

// The scored and hidden rows of one step, and the PromptReading that each belongs to. Readings must outlive the step.
class PromptRows {
 public:
  // Adds to `input` the rows that `reading` wants of a row of the plan. The tokens of that row must be in `input`
  // already, from index `first_row` on.
  void add(const PromptReading& reading, const sched::StepRow& row, std::int64_t first_row, StepInput& input);
  // Adds the results of its rows to `reading`, after the step. kInternal if a result is NaN: the request must then
  // fail.
  Result<void> deliver(PromptReading& reading, const StepResult& result) const;

 private:
  struct Wanted {
    const PromptReading* reading;
    std::int64_t position;  // of the row
  };
  std::vector<Wanted> scored_, hidden_;  // in the order of input.scored_rows and input.hidden_rows
};

}  // namespace millrace::engine
