#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/env.h"
#include "engine/config.h"
#include "engine/engine_limits.h"
#include "engine/engine_state.h"
#include "engine/executor.h"
#include "engine/intake.h"
#include "engine/page_compactor.h"
#include "engine/request.h"
#include "engine/sequence_transfer.h"
#include "engine/step_loop.h"

namespace millrace::engine {

// Any number of requests advance together, each as if it were alone (law 3). One thread calls it; see EngineThread for
// the door that many may use. The parts, each a file: Intake (requests come in), StepLoop (steps), RowSampler (logits
// to tokens), BeamGroups, Preemptor, Endings, SequenceTransfer, TimeAccounting, StepReporter, over one EngineState.
class Engine {
 public:
  // Tokenizer, env and disk tier (null: none) must outlive it. kInvalidArgument for an unknown policy.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Executor> executor,
                                                std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
                                                const Config& config, kv::DiskTier* disk = nullptr);

  // Computes a few tokens for no request, twice, before the first request: what comes with the first step of a process
  // (pages of memory, of code) is over then, and how long computing a page takes is known, against which loading one
  // from the disk tier is weighed. A few dozen tokens' time.
  Result<void> warm_up();
  // Drafts and verifies tokens from now on; the drafter becomes the executor's. Between steps; null: drafts of grammars
  // alone.
  void speculate(std::unique_ptr<draft::Drafter> drafter, const SpeculationConfig& config);

  // Accepts the request or says what is wrong with it (check_request()); nothing changes then. A session has one
  // request at a time. Each answer fits `grammar` (null: anything), which is what request.grammar was compiled to, and
  // of this engine alone.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar = nullptr) {
    return intake_.submit(std::move(request), std::move(grammar));
  }
  // Ends the request in the next step, wherever it is.
  void cancel(RequestId id) { state_.requests.cancel(id); }
  // A paused request keeps its pages and takes part in no step.
  void pause(RequestId id, bool paused);
  // Interactive sessions: opened, forked, rolled back and closed between steps.
  Sessions& sessions() noexcept { return state_.sessions; }
  const Sessions& sessions() const noexcept { return state_.sessions; }

  // Launches as many steps as the executor holds, waits for the oldest and says what it did; empty when idle, or when
  // all requests wait for something (a full batch, a paused reader).
  std::vector<Output> step();
  bool idle() const noexcept { return state_.requests.empty(); }
  // The last step() found nothing to compute: idle, or all requests wait for something.
  bool stalled() const noexcept { return stalled_; }
  // When step() has something to do again without anybody calling, as far as is known: a batch's waiting ends, a
  // request times out. The past where it would bring pages together meanwhile.
  std::optional<TimePoint> next_event() const;

  // Requests and sessions that leave for another engine, or come from one.
  SequenceTransfer& transfers() noexcept { return transfers_; }

  StepReporter& reporter() noexcept { return loop_.reporter(); }
  const kv::PagedCache& cache() const noexcept { return state_.cache; }
  const EngineCounters& counters() const noexcept { return state_.counters; }
  const sched::Scheduler& scheduler() const noexcept { return state_.scheduler; }
  const sched::StepCost& step_cost() const noexcept { return state_.cost.cost(); }  // as measured so far
  EngineLimits limits() const noexcept;
  void check_integrity() const;  // walks everything

 private:
  Engine(std::unique_ptr<Executor> executor, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
         const Config& config, std::unique_ptr<sched::SchedulePolicy> policy, kv::DiskTier* disk)
      : state_(std::move(executor), std::move(tokenizer), env, config, std::move(policy), disk) {}

  EngineState state_;
  Intake intake_{state_};
  StepLoop loop_{state_};
  SequenceTransfer transfers_{state_, loop_};
  PageCompactor compactor_{state_};
  bool stalled_ = true;
};

}  // namespace millrace::engine
