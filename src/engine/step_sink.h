#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/token_scorer.h"
#include "engine/step_input.h"
#include "model/batch_input.h"

namespace millrace::engine {

// Takes what a model computes of a step into the step's result: scores of the scored rows, tokens of the sampled ones,
// and final hidden states. The model hands their logits over in blocks, so that no step holds those of all. One thread.
class StepSink final : public model::LogitsConsumer {
 public:
  // Input and result must outlive the sink.
  StepSink(const StepInput& input, StepResult& result);

  // The rows whose logits it wants, ascending: what take_logits() counts in.
  std::vector<std::int64_t> logit_rows() const;
  void take_logits(std::int64_t first, const TensorView& logits) override;
  void take_hidden(std::int64_t first, const TensorView& hidden) override;  // in order

 private:
  struct Wanted {
    std::int64_t row = 0;
    bool sampled = false;   // else scored
    std::size_t index = 0;  // in the list of these
  };
  void take_row(const Wanted& wanted, std::span<const float> logits);

  const StepInput& input_;
  StepResult& result_;
  std::vector<Wanted> wanted_;
  decode::TokenScorer scorer_;
};

}  // namespace millrace::engine
