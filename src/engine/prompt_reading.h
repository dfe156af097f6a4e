#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "decode/token_scorer.h"
#include "engine/request.h"
#include "model/batch_input.h"
#include "sched/step_plan.h"

namespace millrace::engine {

// What a request asks of its prompt besides a successor: scores of its tokens, or an embedding. Grows with the prompt's
// rows, in order; where every row counts, none may be found published instead of computed.
class PromptReading {
 public:
  // Null where the request asks for nothing of the kind.
  static std::unique_ptr<PromptReading> of(const Request& request);

  bool embeds() const noexcept { return embed_; }
  // Tokens of the prompt that need not be computed (again).
  std::int64_t shareable_tokens(std::int64_t prompt_tokens) const noexcept;
  std::vector<TokenScore> take_scores() { return std::move(scores_); }
  // [E], of length 1. Once.
  std::vector<float> take_embedding();
  // How far it is, of `prompt_tokens` tokens and states of `hidden_size` numbers, could be true.
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

// The rows of one step that prompts are read from.
class PromptRows final : public model::LogitsConsumer {
 public:
  explicit PromptRows(decode::TokenScorer& scorer) : scorer_(scorer) {}

  // Asks the step for what `reading` needs of the plan's row, which is rows from `first_row` on of the input. Not
  // before the row's tokens are in it.
  void add(const PromptReading& reading, const sched::StepRow& row, std::int64_t first_row, model::BatchInput& input);
  // Gives `reading` what came of it, once the step is done. Every reading that was added, or none of its rows count.
  Result<void> deliver(PromptReading& reading);

  void take_logits(std::int64_t first, const TensorView& logits) override;
  void take_hidden(std::int64_t first, const TensorView& hidden) override;

 private:
  struct Scored {
    const PromptReading* reading;
    std::int32_t token;     // the next of the prompt
    std::int64_t position;  // of the row
    std::optional<TokenScore> score;
  };
  struct State {
    const PromptReading* reading;
    std::int64_t position;
    std::vector<float> values;  // [E]
  };
  decode::TokenScorer& scorer_;
  std::vector<Scored> scored_;  // by scored row
  std::vector<State> states_;   // by hidden row
};

}  // namespace millrace::engine
