#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "decode/token_scorer.h"
#include "engine/endings.h"
#include "engine/engine_state.h"
#include "engine/step_reporter.h"

namespace millrace::engine {

// The beam search of a request. `first` is its first sequence; `ends` are the model's ends of generation.
std::unique_ptr<BeamRun> make_beam_run(const Request& request, const ActiveSequence& first,
                                       std::span<const std::int32_t> ends);

// Beam search over sequences that share pages. The beams of a request wait until all of them have scores for their next
// tokens, then take a step of the search together. Engine thread only.
class BeamGroups {
 public:
  BeamGroups(EngineState& state, TimeAccounting& accounting, StepReporter& reporter, Endings& endings)
      : state_(state), accounting_(accounting), reporter_(reporter), endings_(endings), writer_(state.tokenizer) {}

  // Scores the beam's next tokens from its row of logits [V].
  void score(ActiveSequence& beam, std::span<const float> logits);
  // Ends the beam's search with the error of the step that computed it, at the next advance().
  void fail(const ActiveSequence& beam, Error error) { failed_.emplace_back(beam.request, std::move(error)); }
  // Advances the searches whose beams all have their scores. Call it after the rows of a step.
  void advance(std::vector<Output>& outputs);
  // Where beams with scores wait for siblings that are not admitted yet, takes them out of the scheduler, so that their
  // slots are free. They keep their pages. park() does so for one beam.
  void park_scored();
  void park(ActiveSequence& beam);
  // Frees the pages of one parked beam, which are computed again later. False if no parked beam has any.
  bool reclaim();

 private:
  void advance(RequestId id, RequestState& request, std::vector<Output>& outputs);
  void replace_beams(RequestId id, RequestState& request);
  void fork(ActiveSequence& beam, const ActiveSequence& parent);
  void emit(RequestId id, RequestState& request, std::vector<Output>& outputs);
  void emit_hypothesis(BeamRun& run, const ActiveSequence& first, std::span<const std::int32_t> tokens, int choice,
                       std::vector<Output>& outputs);

  EngineState& state_;
  TimeAccounting& accounting_;
  StepReporter& reporter_;
  Endings& endings_;
  OutputWriter writer_;
  decode::TokenScorer scorer_;
  std::vector<RequestId> scored_;  // in the step being committed
  std::vector<std::pair<RequestId, Error>> failed_;
};

}  // namespace millrace::engine
