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
#include "engine/idle_memory.h"
#include "engine/intake.h"
#include "engine/page_compactor.h"
#include "engine/request.h"
#include "engine/sequence_transfer.h"
#include "engine/step_loop.h"

namespace millrace::engine {

// Computes the answers of many requests together. Each gets the tokens that it would get alone (docs/architecture.md,
// law 3). One thread calls it; EngineThread makes an engine available to all threads. It is a facade over parts, each
// in its file: Intake, StepLoop, RowSampler, BeamGroups, Preemptor, AdapterSeats, Endings, SequenceTransfer,
// TimeAccounting, StepReporter. They share one EngineState.
class Engine {
 public:
  // `env` and `disk` (null: none) must outlive the engine. kInvalidArgument if the policy or an option of it is
  // invalid.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Executor> executor,
                                                std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
                                                const Config& config, kv::DiskTier* disk = nullptr);

  // Computes 32 tokens twice, for no request: the first request then finds memory and code mapped. Also measures the
  // time to compute a page, without which no page is loaded from the disk tier. Must be called before the first request
  // (CHECK). The error is the executor's.
  Result<void> warm_up();
  // Enables speculation. The executor owns the drafter; null: only tokens that grammars force are drafted. Call it
  // between steps, with no step in flight.
  void speculate(std::unique_ptr<draft::Drafter> drafter, const SpeculationConfig& config);

  // Accepts the request, or returns the error of check_request() without any change. A session has one request at a
  // time. `grammar` is request.grammar, compiled for this engine's tokenizer and used by this engine only; null: none.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar = nullptr) {
    return intake_.submit(std::move(request), std::move(grammar));
  }
  // Ends the request in the next step; no effect if it has ended.
  void cancel(RequestId id) { state_.requests.cancel(id); }
  // Pauses or resumes a request; no effect if it has ended. A paused one keeps its pages until they are needed, takes
  // part in no step, and is the first to be preempted.
  void pause(RequestId id, bool paused);
  // Interactive sessions.
  Sessions& sessions() noexcept { return state_.sessions; }

  // Launches as many steps as the executor holds, waits for the oldest and returns its outputs. If there is nothing to
  // compute, compacts pages for about 0.5 ms instead.
  std::vector<Output> step();
  bool idle() const noexcept { return state_.requests.empty(); }
  // The last step() found nothing to compute: the engine is idle, or all requests wait, for a full batch or a reader.
  bool stalled() const noexcept { return stalled_; }
  // The time at which a stalled engine has something to do without a further call: the wait of a batch ends, or a
  // request times out. A time in the past if step() would compact pages. Nothing: no such time is known.
  std::optional<TimePoint> next_event() const;

  // Moves requests and sessions to and from other engines.
  SequenceTransfer& transfers() noexcept { return transfers_; }

  // Memory that can be given back while there is no request.
  IdleMemory& idle_memory() noexcept { return idle_memory_; }

  StepReporter& reporter() noexcept { return loop_.reporter(); }
  const kv::PagedCache& cache() const noexcept { return state_.cache; }
  const EngineCounters& counters() const noexcept { return state_.counters; }
  const sched::Scheduler& scheduler() const noexcept { return state_.scheduler; }
  const sched::StepCost& step_cost() const noexcept { return state_.cost.cost(); }  // fitted to the steps so far
  EngineLimits limits() const noexcept;
  void check_integrity() const;  // CHECKs queues, pages and the prefix tree by walking them; for tests

 private:
  Engine(std::unique_ptr<Executor> executor, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
         const Config& config, std::unique_ptr<sched::SchedulePolicy> policy, kv::DiskTier* disk)
      : state_(std::move(executor), std::move(tokenizer), env, config, std::move(policy), disk) {}

  EngineState state_;
  Intake intake_{state_};
  StepLoop loop_{state_};
  SequenceTransfer transfers_{state_, loop_};
  PageCompactor compactor_{state_};
  IdleMemory idle_memory_{state_};
  bool stalled_ = true;
};

}  // namespace millrace::engine
