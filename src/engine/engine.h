#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/env.h"
#include "engine/active_sequence.h"
#include "engine/beam_run.h"
#include "engine/executor.h"
#include "engine/kv_extents.h"
#include "engine/request.h"
#include "engine/sessions.h"
#include "engine/speculation.h"
#include "engine/step_report.h"
#include "grammar/matcher.h"
#include "kv/paged_cache.h"
#include "sched/length_predictor.h"
#include "sched/scheduler.h"
#include "sched/step_cost_estimator.h"

namespace millrace::engine {

// What becomes of the pages of a preempted sequence: given up and computed again, moved to host memory, or whichever
// takes less time as measured so far.
enum class Preemption { kAuto, kRecompute, kSwap };

struct Config {
  sched::Config scheduling;
  std::string policy = "decode-first";
  sched::PolicyOptions policy_options = {};
  bool prefix_caching = true;  // requests share the pages of what they begin with alike
  std::size_t swap_bytes = 0;  // host memory for preempted sequences
  Preemption preemption = Preemption::kAuto;
  double session_share = 1.0;       // of the pages, the most that idle sessions hold
  std::int64_t max_waiting = 1024;  // requests; more are refused with kResourceExhausted
  bool jump_forward = true;  // what a grammar leaves no choice about is drafted, if nothing else is: see Speculation
  // Logits of a step from which on its rows are sampled from on all threads of the executor. Fewer take one thread less
  // than a millisecond, and stay in its caches.
  std::int64_t side_by_side_logits = 1 << 21;
  sched::StepCost step_cost = {};  // of the first steps, until enough were measured
};

// Counts since the start.
struct EngineCounters {
  std::int64_t steps = 0, requests = 0, answers = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0, computed_tokens = 0;
  std::int64_t queried_tokens = 0, cached_tokens = 0;  // of prompts admitted: all, and found in pages
  std::int64_t preemptions = 0, swaps = 0, rejections = 0, numerical_errors = 0, failed_steps = 0;
  std::int64_t drafts = 0, drafted_tokens = 0, accepted_tokens = 0;  // of speculation: rows with drafted tokens, those
  std::int64_t accepted_branch_tokens = 0;                           // of the accepted, those of branches
};

// The step loop: any number of requests advance together, each as if it were alone (law 3). One thread calls it; see
// EngineThread for the door that many may use.
class Engine {
 public:
  // Tokenizer, env and disk tier (null: none) must outlive it. kInvalidArgument for an unknown policy.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Executor> executor,
                                                std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
                                                const Config& config, kv::DiskTier* disk = nullptr);
  ~Engine();

  // Computes a few tokens for no request, twice, before the first request: what comes with the first step of a process
  // (pages of memory, of code) is over then, and how long computing a page takes is known, against which loading one
  // from the disk tier is weighed. A few dozen tokens' time.
  Result<void> warm_up();

  // Drafts and verifies tokens from now on; null: no more.
  void speculate(std::unique_ptr<Speculation> speculation);

  // Accepts the request or says what is wrong with it; nothing changes then. A session has one request at a time. Each
  // answer fits `grammar` (null: anything), which is what request.grammar was compiled to, and of this engine alone.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar = nullptr);
  // Ends the request in the next step, wherever it is.
  void cancel(RequestId id);
  // A paused request keeps its pages and takes part in no step.
  void pause(RequestId id, bool paused);
  bool idle() const noexcept { return requests_.empty(); }
  // The last step() found nothing to compute: idle, or all requests wait for something.
  bool stalled() const noexcept { return stalled_; }
  // Further calls of step() would bring pages together meanwhile, less than a millisecond's worth each.
  bool needs_compaction() const noexcept { return launched_.empty() && compacted_ != cache_.changes(); }

  SessionId open_session();
  void close_session(SessionId session) { sessions_.close(session); }
  Result<SessionId> fork_session(SessionId session);
  Result<void> rollback_session(SessionId session, std::int64_t tokens) { return sessions_.rollback(session, tokens); }

  // Launches as many steps as the executor holds, waits for the oldest and says what it did; empty when idle, or when
  // all requests wait for something (a full batch, a paused reader).
  std::vector<Output> step();
  // When there is something to do again without anybody calling, as far as is known: a batch's waiting ends, a request
  // times out.
  std::optional<TimePoint> next_event() const;

  // How long the outputs of the last step took to hand on: for the next report.
  void note_delivery(double ms) noexcept { delivery_ms_ = ms; }
  // Called at the end of each committed step, on the engine's thread; must not block. One observer; empty: none.
  void observe(StepObserver observer) { observer_ = std::move(observer); }

  // Asked after each step what it had to do, for reports and TimeSpent, on the engine's thread. Before the first step.
  void measure(StepMeasure measure) { measure_ = std::move(measure); }

  const kv::PagedCache& cache() const noexcept { return cache_; }
  const EngineCounters& counters() const noexcept { return counters_; }
  const sched::Scheduler& scheduler() const noexcept { return scheduler_; }
  const sched::StepCost& step_cost() const noexcept { return cost_.cost(); }
  std::int64_t max_length() const noexcept;  // tokens of a sequence, by model and pages
  std::int64_t vocab_size() const noexcept { return executor_->vocab_size(); }
  std::int64_t kv_capacity_tokens() const noexcept;
  std::int64_t kv_free_tokens() const noexcept;  // in no table
  std::size_t kv_bytes() const noexcept;
  std::size_t kv_bytes_per_token() const noexcept;
  KvExtents kv_extents() const;
  void check_integrity() const;  // walks everything

 private:
  struct InFlight {
    std::vector<std::unique_ptr<ActiveSequence>> answers;  // [n]; null once ended, or before the prompt is computed
    std::optional<SessionId> session;
    int live = 0;
    int n = 1;
    bool cancelled = false;
    std::optional<TimePoint> deadline;
    std::unique_ptr<BeamRun> beams;  // null: sampled; else one of `answers` for each live beam
  };
  // A branch of a sequence's drafts while a step computes it: over the sequence's pages, and from the last token's on
  // over its own.
  struct BranchRows {
    kv::BlockTable blocks;
    std::int64_t first_logits = 0;  // row of logits of the last token
  };
  struct Launched {
    sched::StepPlan plan;
    std::vector<BranchRows> branches;         // of the rows, in their order
    std::unique_ptr<PromptRows> prompt_rows;  // null where no prompt is read
    sched::StepWork work;
    TimePoint start{}, scheduled{}, prepared{};
    double drafting_ms = 0.0;  // of it, before anything was computed
    bool after_pause = false;  // nothing was being computed before it
  };
  // The time of a step, and the rates at which its rows share in it.
  struct StepTime {
    TimePoint begin{};
    double whole_ms = 0.0;
    double scale = 0.0;                        // of the cost model's time for this step
    double token_ms = 0.0, kv_token_ms = 0.0;  // a row of one token alone
    double prompts_ms = 0.0;                   // what rows of several tokens added
    StepWorkload workload;
  };

  Engine(std::unique_ptr<Executor> executor, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
         const Config& config, std::unique_ptr<sched::SchedulePolicy> policy, kv::DiskTier* disk);

  // engine.cc
  Result<void> validate(const Request& request) const;
  Result<void> validate_reading(const Request& request) const;
  std::unique_ptr<ActiveSequence> make_running(RequestId request, int choice, const decode::SamplingParams& sampling,
                                               std::optional<grammar::Matcher> grammar);
  sched::PolicyView view() const;

  // step.cc
  bool launch(std::vector<Output>& outputs);
  sched::StepPlan plan_with_room(const sched::PolicyView& view);
  void preempt(ActiveSequence& running);
  void admit(const sched::Admission& admission);
  std::vector<BranchRows> make_branches(sched::StepPlan& plan);
  Launched gather(sched::StepPlan plan, std::vector<BranchRows> branches, model::BatchInput& input);
  static void gather_branches(Launched& step, model::BatchInput& input);
  void commit(Launched step, const Result<TensorView>& logits, std::vector<Output>& outputs);
  void draft(const sched::PolicyView& view);
  bool make_room_to_draft(ActiveSequence& running);
  void publish(ActiveSequence& running, bool partial);

  // sampling.cc
  void fork_answers(ActiveSequence& first, std::span<const float> logits, std::vector<Output>& outputs);
  void sample_row(ActiveSequence& running, const TensorView& logits, std::int64_t logit_row, std::int64_t drafted,
                  std::span<BranchRows> branches, std::vector<Output>& outputs);
  void count_drafts(ActiveSequence& running, std::int64_t drafted, std::size_t branches);
  void sample_side_by_side(const Launched& step, const TensorView& logits);
  void sample(ActiveSequence& running, std::span<const float> logits, std::vector<Output>& outputs);
  void count_sampled(ActiveSequence& running);
  bool take_sampled(ActiveSequence& running, std::int32_t token, std::span<const float> logits,
                    std::vector<Output>& outputs);
  bool take(ActiveSequence& running, std::int32_t token, Output output, std::vector<Output>& outputs);
  bool is_models_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  bool is_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  FinishReason emit(std::int32_t token, std::int64_t n, const decode::SamplingParams& sampling,
                    text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) const;
  static void emit_rest(text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output);
  void fail(ActiveSequence& running, Error error, std::vector<Output>& outputs);
  void finish_reading(ActiveSequence& running, std::vector<Output>& outputs);

  // beams.cc
  Result<void> validate_beams(const Request& request) const;
  std::unique_ptr<BeamRun> make_beam_run(const Request& request, const ActiveSequence& first) const;
  void score_beam(ActiveSequence& beam, std::span<const float> logits);
  void advance_beams(std::vector<Output>& outputs);
  void advance(RequestId id, InFlight& flight, std::vector<Output>& outputs);
  void park_beams();
  void park(ActiveSequence& beam);
  bool reclaim_beams();
  void fork_beam(ActiveSequence& beam, const ActiveSequence& parent);
  void emit_beams(RequestId id, InFlight& flight, std::vector<Output>& outputs);
  void emit_hypothesis(BeamRun& run, const ActiveSequence& first, std::span<const std::int32_t> tokens, int choice,
                       std::vector<Output>& outputs);

  // compaction.cc
  void compact_pages();

  // accounting.cc
  void settle(ActiveSequence& running, TimePoint now);
  StepTime time_of(const Launched& step, TimePoint last_end) const;
  void begin_accounting(const StepTime& step);
  void account(const sched::StepRow& row, const StepTime& step);
  void close_streak(TimeAccount& account) const;
  void note_rows(const Launched& step);
  void note_prompt(const ActiveSequence& running);
  void note_token(const ActiveSequence& running);
  void report(const Launched& step, bool failed);

  // ending.cc
  void end_overdue(std::vector<Output>& outputs);
  void end_request(RequestId id, FinishReason reason, std::vector<Output>& outputs, const Error* error = nullptr);
  void end(ActiveSequence& running, FinishReason reason, Output output, std::vector<Output>& outputs);
  void end_retired(std::vector<Output>& outputs);

  std::unique_ptr<Executor> executor_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  Env& env_;
  Config config_;
  kv::PagedCache cache_;
  sched::Scheduler scheduler_;
  std::unique_ptr<sched::LengthPredictor> predictor_;
  sched::StepCostEstimator cost_;
  std::unique_ptr<Speculation> speculation_;  // null: none
  Sessions sessions_;
  decode::TokenScorer scorer_;
  std::unordered_map<RequestId, InFlight> requests_;
  std::deque<Launched> launched_;
  std::vector<RequestId> cancelled_;
  std::set<std::pair<TimePoint, RequestId>> deadlines_;
  std::vector<ActiveSequence*> retiring_;  // end as soon as no step holds them
  std::set<RequestId> searches_;           // requests answered by beam search
  std::vector<RequestId> scored_beams_;    // in the step being committed
  std::vector<std::pair<RequestId, Error>> failed_beams_;
  EngineCounters counters_;

  StepObserver observer_;
  StepMeasure measure_;
  StepReport noted_;  // of the step being committed: rows, and what is counted of them
  EngineCounters reported_;
  std::int64_t reported_evictions_ = 0;
  std::vector<RowReport> row_reports_;
  std::vector<TokenReport> token_reports_;
  std::int64_t prompt_tokens_done_ = 0;
  TimePoint wait_start_{};
  AccountingEpoch epoch_;
  double delivery_ms_ = 0.0;
  double swap_ms_per_page_ = 0.1, move_ms_per_page_ = 0.5;
  std::uint64_t compacted_ = 0;  // cache_.changes() when no page was left to move
  TimePoint step_end_{};         // of the step being committed: its tokens came then
  bool stalled_ = true;
  std::uint64_t next_id_ = 1;
};

}  // namespace millrace::engine
