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

// Serves any number of requests in common steps; each gets the tokens that it would get alone (law 3). One thread calls
// it; EngineThread is for many. A facade: Intake takes requests in, StepLoop runs steps, RowSampler turns logits into
// tokens; BeamGroups, Preemptor, Endings, SequenceTransfer, TimeAccounting and StepReporter have a file each.
class Engine {
 public:
  // Tokenizer, env and disk tier (null: none) must outlive it. kInvalidArgument for an unknown policy.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Executor> executor,
                                                std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
                                                const Config& config, kv::DiskTier* disk = nullptr);

  // Runs two steps of a few dozen tokens that belong to no request; call it before the first request. It takes the
  // one-time costs of a process's first step, and measures how long computing a page takes, which decides whether
  // loading a page from the disk tier is faster.
  Result<void> warm_up();
  // Turns speculation on. The executor becomes the owner of `drafter`; null: only grammars give drafts. Between steps.
  void speculate(std::unique_ptr<draft::Drafter> drafter, const SpeculationConfig& config);

  // Accepts the request, or returns the error of check_request() and changes nothing. A session has one request at a
  // time. `grammar` is request.grammar compiled for this engine alone; null: none.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar = nullptr) {
    return intake_.submit(std::move(request), std::move(grammar));
  }
  // Ends the request at the next step(). Does nothing for one that has ended.
  void cancel(RequestId id) { state_.requests.cancel(id); }
  // A paused request keeps its pages and takes part in no step. It is the first to be preempted.
  void pause(RequestId id, bool paused);
  // Interactive sessions. Open, fork, roll back and close them between steps.
  Sessions& sessions() noexcept { return state_.sessions; }
  const Sessions& sessions() const noexcept { return state_.sessions; }

  // Launches up to Executor::depth() steps, waits for the oldest and returns its outputs. Empty when idle, or when all
  // requests wait for something (a full batch, a paused reader).
  std::vector<Output> step();
  bool idle() const noexcept { return state_.requests.empty(); }
  // The last step() found nothing to compute: idle, or all requests wait for something.
  bool stalled() const noexcept { return stalled_; }
  // The next time at which step() has something to do without further calls: a batch's waiting time ends, or a request
  // times out. In the past if step() would compact pages meanwhile. Nothing if no such time is known.
  std::optional<TimePoint> next_event() const;

  // Moves requests and sessions to other engines, and takes them in.
  SequenceTransfer& transfers() noexcept { return transfers_; }

  StepReporter& reporter() noexcept { return loop_.reporter(); }
  const kv::PagedCache& cache() const noexcept { return state_.cache; }
  const EngineCounters& counters() const noexcept { return state_.counters; }
  const sched::Scheduler& scheduler() const noexcept { return state_.scheduler; }
  const sched::StepCost& step_cost() const noexcept { return state_.cost.cost(); }  // as measured so far
  EngineLimits limits() const noexcept;
  void check_integrity() const;  // CHECKs the invariants of queues, tables, references and the prefix tree; for tests

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
