#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decode/token_scorer.h"
#include "engine/beam_groups.h"
#include "engine/endings.h"
#include "engine/engine_state.h"
#include "engine/launched_step.h"
#include "engine/step_reporter.h"

namespace millrace::engine {

// From rows of logits to tokens of answers. The engine's thread, but for sample_side_by_side().
class RowSampler {
 public:
  RowSampler(EngineState& state, StepReporter& reporter, Endings& endings, BeamGroups& beams)
      : state_(state), reporter_(reporter), endings_(endings), beams_(beams), writer_(state.tokenizer) {}

  // The tokens of the step's rows, on all threads of the executor, where that is worth waking them for: each depends on
  // its own row and sequence alone. Grammars are used by one thread, and what speculation makes of a row is a loop of
  // its own: such rows are left to sample_row().
  void sample_side_by_side(const LaunchedStep& step, const TensorView& logits);

  // The token after the sequence's last one, and as long as the draft tokens are accepted, those after them: each is
  // sampled from the logits that follow on what was sampled before, as if it were the only one of its step. The rows
  // of logits begin at `logit_row`; `drafted` of the sequence's draft tokens were computed, and these branches.
  void sample_row(ActiveSequence& sequence, const TensorView& logits, std::int64_t logit_row, std::int64_t drafted,
                  std::span<BranchRows> branches, std::vector<Output>& outputs);
  // The token that the executor sampled of the sequence's row; nothing where its logits were no numbers.
  void take_fed(ActiveSequence& sequence, std::optional<std::int32_t> token, std::vector<Output>& outputs);
  // The whole prompt is computed, and nothing else was asked for.
  void finish_reading(ActiveSequence& sequence, std::vector<Output>& outputs);

 private:
  void fork_answers(ActiveSequence& first, std::span<const float> logits, std::vector<Output>& outputs);
  void sample(ActiveSequence& sequence, std::span<const float> logits, std::vector<Output>& outputs);
  void verify(ActiveSequence& sequence, const TensorView& logits, std::int64_t logit_row, std::int64_t drafted,
              std::span<BranchRows> branches, std::vector<Output>& outputs);
  void count_drafts(ActiveSequence& sequence, std::int64_t drafted, std::size_t branches);
  void accept_draft(ActiveSequence& sequence);
  bool take_sampled(ActiveSequence& sequence, std::int32_t token, std::span<const float> logits,
                    std::vector<Output>& outputs);
  bool take(ActiveSequence& sequence, std::int32_t token, Output output, std::vector<Output>& outputs);

  EngineState& state_;
  StepReporter& reporter_;
  Endings& endings_;
  BeamGroups& beams_;
  OutputWriter writer_;
  decode::TokenScorer scorer_;
};

}  // namespace millrace::engine
