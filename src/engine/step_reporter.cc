#include "engine/step_reporter.h"

#include <algorithm>
#include <utility>

namespace millrace::engine {

StepWorkload StepReporter::note_rows(const LaunchedStep& step, const model::ExpertUse& experts) {
  if (!observer_ && !measure_) return {};
  noted_ = {};
  prompt_tokens_done_ = 0;
  row_reports_.clear();
  token_reports_.clear();
  for (const sched::StepRow& row : step.plan.rows) {
    const auto& sequence = static_cast<const ActiveSequence&>(*row.sequence);
    row_reports_.push_back(
        {.request = sequence.request,
         .choice = sequence.choice,
         .first = row.first,
         .tokens = row.n_tokens,
         .drafted = row.drafted(),
         .branches = static_cast<std::int64_t>(row.branches),
         .branch_tokens = row.branch_tokens(),
         .decode = row.n_tokens - row.drafted() == 1 && row.samples() && sequence.stats.output_tokens > 0,
         .begins = sequence.account.spent.steps == 0,
         .arrival = sequence.arrival,
         .start = std::max(sequence.stats.admitted, step.start)});
    const RowReport& noted = row_reports_.back();
    (noted.decode ? noted_.decode_tokens : noted_.prefill_tokens) += noted.tokens + noted.branch_tokens;
    noted_.kv_tokens_read += noted.first * (1 + noted.branches) + noted.tokens + noted.branch_tokens;
  }
  noted_.sequences = static_cast<std::int64_t>(row_reports_.size());
  noted_.kv_tokens_attended = step.work.kv_tokens;
  noted_.samples = step.work.samples;
  noted_.rows = row_reports_;
  noted_.experts = experts;
  if (measure_) noted_.workload = measure_(noted_);
  return noted_.workload;
}

// The other answers to a prompt begin with the first one's.
void StepReporter::note_prompt(const ActiveSequence& sequence) {
  if (sequence.choice == 0) prompt_tokens_done_ += sequence.prompt_tokens;
}

void StepReporter::note_token(const ActiveSequence& sequence) {
  if (!observer_) return;
  const bool first = sequence.stats.output_tokens == 0;
  if (first) note_prompt(sequence);
  token_reports_.push_back(
      {.request = sequence.request,
       .choice = sequence.choice,
       .first = first,
       .since_ms = milliseconds_between(first ? sequence.arrival : sequence.stats.last_token, state_.step_end)});
}

void StepReporter::report(const LaunchedStep& step, bool failed) {
  if (!observer_) return;
  StepReport report = noted_;
  report.start = step.start;
  report.end = state_.env.now();
  report.schedule_ms = milliseconds_between(step.start, step.scheduled);
  report.prepare_ms = milliseconds_between(step.scheduled, step.prepared);
  report.forward_ms = milliseconds_between(wait_start_, state_.step_end);
  report.send_ms = std::exchange(delivery_ms_, 0.0);
  report.failed = failed;
  report.commit_ms = milliseconds_between(state_.step_end, report.end);
  report.prompt_tokens = prompt_tokens_done_;
  report.admitted = static_cast<std::int64_t>(step.plan.admitted.size());
  count_since_last(report);
  look_at_queues(report);
  report.tokens = token_reports_;
  observer_(report);
}

void StepReporter::count_since_last(StepReport& report) {
  const EngineCounters& now = state_.counters;
  report.cached_tokens = now.cached_tokens - reported_.cached_tokens;
  report.queried_tokens = now.queried_tokens - reported_.queried_tokens;
  report.preempted = now.preemptions - reported_.preemptions;
  report.drafts = now.drafts - reported_.drafts;
  report.drafted_tokens = now.drafted_tokens - reported_.drafted_tokens;
  report.accepted_tokens = now.accepted_tokens - reported_.accepted_tokens;
  report.accepted_branch_tokens = now.accepted_branch_tokens - reported_.accepted_branch_tokens;
  report.swapped = now.swaps - reported_.swaps;
  report.numerical_errors = now.numerical_errors - reported_.numerical_errors;
  report.weight_rounds = now.weight_rounds - reported_.weight_rounds;
  report.rejected = now.rejections - reported_.rejections;
  report.evicted_pages = state_.cache.counters().evicted_pages - reported_evictions_;
  reported_ = now;
  reported_evictions_ = state_.cache.counters().evicted_pages;
}

void StepReporter::look_at_queues(StepReport& report) const {
  const sched::Scheduler& scheduler = state_.scheduler;
  report.waiting = static_cast<std::int64_t>(scheduler.waiting().size());
  if (report.waiting > 0) {
    report.oldest_wait_ms = milliseconds_between(scheduler.waiting().front()->arrival, report.end);
  }
  report.running = static_cast<std::int64_t>(scheduler.running().size());
  report.paused = std::ranges::count_if(scheduler.running(), &sched::Sequence::paused);
  report.pages = state_.cache.use();
}

}  // namespace millrace::engine
