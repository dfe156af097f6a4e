#pragma once

#include <memory>

#include "base/env.h"
#include "engine/config.h"
#include "engine/engine_counters.h"
#include "engine/executor.h"
#include "engine/request_table.h"
#include "engine/sessions.h"
#include "engine/speculation.h"
#include "kv/page_key.h"
#include "kv/paged_cache.h"
#include "sched/length_predictor.h"
#include "sched/scheduler.h"
#include "sched/step_cost_estimator.h"

namespace millrace::engine {

// What the parts of an engine share: the executor and what is known of its pages, the queues, the requests. The
// engine's thread.
struct EngineState {
  EngineState(std::unique_ptr<Executor> step_executor, std::shared_ptr<const text::Tokenizer> model_tokenizer,
              Env& environment, const Config& settings, std::unique_ptr<sched::SchedulePolicy> policy,
              kv::DiskTier* disk);

  std::unique_ptr<Executor> executor;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  Env& env;
  const Config config;
  kv::PagedCache cache;
  sched::Scheduler scheduler;
  std::unique_ptr<sched::LengthPredictor> predictor;
  sched::StepCostEstimator cost;
  std::unique_ptr<Speculation> speculation;  // null: none
  Sessions sessions;
  RequestTable requests;
  EngineCounters counters;
  std::vector<backend::KvOverflow> kv_overflows;  // of the last steps, for the errors of requests
  bool adapters_missing = false;                  // a waiting sequence may lack its adapters
  TimePoint step_end{};                           // of the step being committed: its tokens came then
  std::uint64_t next_id;

  sched::PolicyView view() const { return {.now = env.now(), .cost = cost.cost()}; }
  std::int64_t capacity_tokens() const noexcept { return cache.total_pages() * cache.block_tokens(); }
  std::int64_t max_length() const noexcept;  // tokens of a sequence, by model and pages
  std::unique_ptr<ActiveSequence> make_sequence(RequestId request, int choice, const decode::SamplingParams& sampling,
                                                std::optional<grammar::Matcher> grammar);
  // Sets what steps and pages know of the request's adapters, which are all there. The sequence has its prompt and
  // max_total. A request that shares with no other still shares with itself: other answers, the next round of its
  // session.
  void set_adapters(ActiveSequence& sequence, const Request& request, const Sessions::Session* session) const;
  // What its grammar leaves no choice about is drafted, where nothing else is.
  void jump_forward();
  kv::PageOrigin origin() const;  // of its pages
  // Lets other requests find the pages of what is computed of the sequence: whole ones, and with `partial` the last.
  void publish(ActiveSequence& sequence, bool partial);
  // Remembers what did not fit pages; overflow_of() finds what is in the sequence's, or null.
  void note_overflows(const std::vector<backend::KvOverflow>& overflows);
  const backend::KvOverflow* overflow_of(const ActiveSequence& sequence) const;
  void check_integrity(std::vector<const kv::BlockTable*> further_tables) const;  // walks everything
};

}  // namespace millrace::engine
