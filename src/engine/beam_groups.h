#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/endings.h"
#include "engine/engine_state.h"
#include "engine/step_reporter.h"

namespace millrace::engine {

// The search that answers the request, whose first sequence that is; `ends`: the model's ends of generation.
std::unique_ptr<BeamRun> make_beam_run(const Request& request, const ActiveSequence& first,
                                       std::span<const std::int32_t> ends);

// Beam search over sequences that share pages: the beams of a request wait until all of them have the scores of what
// may follow, then take a step of the search together. The engine's thread.
class BeamGroups {
 public:
  BeamGroups(EngineState& state, TimeAccounting& accounting, StepReporter& reporter, Endings& endings)
      : state_(state), accounting_(accounting), reporter_(reporter), endings_(endings), writer_(state.tokenizer) {}

  // What may follow the beam, from its row of logits [V].
  void score(ActiveSequence& beam, std::span<const float> logits);
  // The step that computed the beam failed: so does its search.
  void fail(const ActiveSequence& beam, Error error) { failed_.emplace_back(beam.request, std::move(error)); }
  // After a step's rows: searches go on whose beams all have their scores.
  void advance(std::vector<Output>& outputs);
  // Beams that have their scores make room for siblings that have no place yet: they leave the scheduler with their
  // pages.
  void park_scored();
  void park(ActiveSequence& beam);
  // A beam that has no place gives up its pages: they can be computed again, and a sibling need not copy those that it
  // shares with it. False where there is none.
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
