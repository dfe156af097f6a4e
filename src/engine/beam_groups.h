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

// A new beam search for the request. `first` is its first sequence, `ends` the model's end-of-generation tokens.
std::unique_ptr<BeamRun> make_beam_run(const Request& request, const ActiveSequence& first,
                                       std::span<const std::int32_t> ends);

// Beam search over sequences that share pages. A beam that has the scores of its next tokens waits until all beams of
// its request have them; then the search takes a step. Engine thread only. The objects given must outlive it.
class BeamGroups {
 public:
  BeamGroups(EngineState& state, TimeAccounting& accounting, StepReporter& reporter, Endings& endings)
      : state_(state), accounting_(accounting), reporter_(reporter), endings_(endings), writer_(state.tokenizer) {}

  // Scores the next tokens of a beam from its row of logits [V]. An error ends the search in advance().
  void score(ActiveSequence& beam, std::span<const float> logits);
  // The step that computed the beam failed: its search ends with `error` in advance().
  void fail(const ActiveSequence& beam, Error error) { failed_.emplace_back(beam.request, std::move(error)); }
  // Call after all rows of a step. Steps the searches whose beams all have scores, and appends outputs of those that
  // end.
  void advance(std::vector<Output>& outputs);
  // Takes beams that have scores out of the scheduler while other beams of their request wait for admission, so that a
  // search needs room for only one running sequence. They keep their pages.
  void park_scored();
  void park(ActiveSequence& beam);  // takes one beam out of the scheduler
  // Publishes and frees the pages of one beam that is not running, to be computed again later. False if none has pages.
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
  std::vector<RequestId> scored_;  // requests with new scores, and those with all of them and beams in flight
  std::vector<std::pair<RequestId, Error>> failed_;
};

}  // namespace millrace::engine
