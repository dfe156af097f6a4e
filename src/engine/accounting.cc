// Where the time of each answer goes, and what a step did, for the observer.

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace millrace::engine {
namespace {

// Time until then that the answer spent in no step.
void spend_outside(ActiveSequence& running, TimePoint until) {
  TimeAccount& account = running.account;
  if (until <= account.mark) return;
  const double ms = milliseconds_between(account.mark, until);
  account.mark = until;
  TimeSpent& spent = account.spent;
  if (running.paused && running.ending == FinishReason::kNone) {
    spent.paused_ms += ms;
  } else if (account.preempted) {
    spent.preempted_ms += ms;
  } else if (running.state == sched::SequenceState::kWaiting) {
    spent.queue_ms += ms;
  } else {
    spent.stalled_ms += ms;
  }
}

// `ms` of a step that computed a chunk of a prompt, of which it would have taken `alone_ms` by itself.
void spend_in_prefill(TimeAccount& account, const sched::StepRow& row, double ms, double alone_ms) {
  const std::int64_t again = std::clamp<std::int64_t>(account.lost - row.first, 0, row.n_tokens);
  const double share = static_cast<double>(again) / static_cast<double>(row.n_tokens);
  account.spent.recomputed_tokens += again;
  account.spent.recompute_ms += ms * share;
  account.spent.prefill_ms += alone_ms * (1.0 - share);
  account.spent.prefill_shared_ms += (ms - alone_ms) * (1.0 - share);
}

}  // namespace

// Not while a step holds it: the time of a step is accounted for when it ends.
void Engine::settle(ActiveSequence& running, TimePoint now) {
  if (running.in_flight > 0) return;
  close_streak(running.account);
  spend_outside(running, now);
}

// A step lasts from the end of the one before it, whose tokens it goes on from, unless there was nothing to compute in
// between. What its rows would have taken alone is what the cost model says of them, scaled so that the model is right
// about the whole step.
Engine::StepTime Engine::time_of(const Launched& step, TimePoint last_end) const {
  const sched::StepCost& cost = cost_.cost();
  StepTime time{.begin = step.after_pause ? step.start : std::min(last_end, step_end_)};
  time.whole_ms = milliseconds_between(time.begin, step_end_);
  time.scale = time.whole_ms / std::max(cost.milliseconds(step.work), 1e-9);
  time.token_ms = time.scale * cost.milliseconds({.tokens = 1, .kv_tokens = 1, .samples = 1});
  time.kv_token_ms = time.scale * cost.kv_token_ms;
  time.workload = noted_.workload;
  if (step.work.tokens == static_cast<std::int64_t>(step.plan.rows.size())) return time;
  sched::StepWork single;  // rows of one token, and what is drafted to follow on it
  for (const sched::StepRow& row : step.plan.rows) {
    if (row.n_tokens - row.drafted() != 1) continue;
    row.add_to(single);
  }
  time.prompts_ms = std::max(0.0, time.whole_ms - (single.tokens > 0 ? time.scale * cost.milliseconds(single) : 0.0));
  return time;
}

// The rows of most steps are tokens of answers that had one in the step before as well (TimeAccount::continues): those
// are not added up one by one, but by what the sums have grown when the streak ends, or the epoch.
void Engine::begin_accounting(const StepTime& step) {
  if (epoch_.step == AccountingEpoch::kSteps) {
    for (auto& [id, flight] : requests_) {
      for (auto& answer : flight.answers) {
        if (answer != nullptr) close_streak(answer->account);
      }
    }
    epoch_.step = 0;
  }
  const AccountingEpoch::Sums& before = epoch_.sums[static_cast<std::size_t>(epoch_.step++)];
  epoch_.sums[static_cast<std::size_t>(epoch_.step)] = {
      .token_ms = before.token_ms + step.token_ms,
      .kv_token_ms = before.kv_token_ms + step.kv_token_ms,
      .kv_token_ms_by_step = before.kv_token_ms_by_step + step.kv_token_ms * epoch_.step,
      .prompts_ms = before.prompts_ms + step.prompts_ms,
      .read_bytes = before.read_bytes + step.workload.read_bytes};
}

// The token of step i stood at streak_first + i - (streak_begin + 1).
void Engine::close_streak(TimeAccount& account) const {
  if (account.streak_begin == TimeAccount::kNoStreak) return;
  const auto& from = epoch_.sums[static_cast<std::size_t>(account.streak_begin)];
  const auto& to = epoch_.sums[static_cast<std::size_t>(account.streak_end)];
  const double ms = milliseconds_between(account.streak_mark, account.mark);
  const auto first = static_cast<double>(account.streak_first - account.streak_begin - 1);
  const double alone = std::min(ms, to.token_ms - from.token_ms + first * (to.kv_token_ms - from.kv_token_ms) +
                                        to.kv_token_ms_by_step - from.kv_token_ms_by_step);
  const double prompts = std::min(to.prompts_ms - from.prompts_ms, ms - alone);
  account.spent.decode_ms += alone;
  account.spent.decode_prefill_ms += prompts;
  account.spent.decode_batch_ms += ms - alone - prompts;
  account.spent.decode_read_bytes += to.read_bytes - from.read_bytes;
  account.spent.steps += account.streak_end - account.streak_begin;
  account.streak_begin = TimeAccount::kNoStreak;
}

void Engine::account(const sched::StepRow& row, const StepTime& step) {
  const bool samples = row.samples();
  auto& running = static_cast<ActiveSequence&>(*row.sequence);
  TimeAccount& account = running.account;
  const bool decodes = row.n_tokens - row.drafted() == 1 && samples && running.stats.output_tokens > 0;
  close_streak(account);
  if (account.mark != step.begin) {
    if (running.ending == FinishReason::kStop || running.ending == FinishReason::kLength) return;  // has its end
    spend_outside(running, step.begin);
  }
  if (decodes && row.n_tokens == 1 && account.mark == step.begin) {
    account.streak_begin = epoch_.step - 1;
    account.streak_end = epoch_.step;
    account.streak_first = row.first;
    account.streak_mark = account.mark;
    account.mark = step_end_;
    return;
  }
  ++account.spent.steps;
  const double ms = std::max(0.0, milliseconds_between(account.mark, step_end_));
  account.mark = step_end_;
  sched::StepWork own;
  row.add_to(own);
  const double alone = std::min(ms, step.scale * cost_.cost().milliseconds(own));
  const double share = step.whole_ms > 0.0 ? ms / step.whole_ms : 0.0;  // of the step: it may have come later
  if (decodes) {  // with drafted tokens, or after its admission, which came later than the step's begin
    const double prompts = std::min(step.prompts_ms, ms - alone);
    account.spent.decode_ms += alone;
    account.spent.decode_prefill_ms += prompts;
    account.spent.decode_batch_ms += ms - alone - prompts;
    account.spent.decode_read_bytes += step.workload.read_bytes * share;
  } else {
    spend_in_prefill(account, row, ms, alone);
    account.spent.prefill_operations += step.workload.operations * share;
  }
}

// Before the rows' sequences can end.
void Engine::note_rows(const Launched& step) {
  noted_ = {};
  prompt_tokens_done_ = 0;
  row_reports_.clear();
  token_reports_.clear();
  for (const sched::StepRow& row : step.plan.rows) {
    const auto& running = static_cast<const ActiveSequence&>(*row.sequence);
    row_reports_.push_back(
        {.request = running.request,
         .choice = running.choice,
         .first = row.first,
         .tokens = row.n_tokens,
         .drafted = row.drafted(),
         .branches = static_cast<std::int64_t>(row.branches),
         .branch_tokens = row.branch_tokens(),
         .decode = row.n_tokens - row.drafted() == 1 && row.samples() && running.stats.output_tokens > 0,
         .begins = running.account.spent.steps == 0,
         .arrival = running.arrival,
         .start = std::max(running.stats.admitted, step.start)});
    const RowReport& noted = row_reports_.back();
    (noted.decode ? noted_.decode_tokens : noted_.prefill_tokens) += noted.tokens + noted.branch_tokens;
    noted_.kv_tokens_read += noted.first * (1 + noted.branches) + noted.tokens + noted.branch_tokens;
  }
  noted_.sequences = static_cast<std::int64_t>(row_reports_.size());
  noted_.kv_tokens_attended = step.work.kv_tokens;
  noted_.samples = step.work.samples;
  noted_.rows = row_reports_;
  if (measure_) noted_.workload = measure_(noted_);
}

// The other answers to a prompt begin with the first one's.
void Engine::note_prompt(const ActiveSequence& running) {
  if (running.choice == 0) prompt_tokens_done_ += running.prompt_tokens;
}

void Engine::note_token(const ActiveSequence& running) {
  if (!observer_) return;
  const bool first = running.stats.output_tokens == 0;
  if (first) note_prompt(running);
  token_reports_.push_back(
      {.request = running.request,
       .choice = running.choice,
       .first = first,
       .since_ms = milliseconds_between(first ? running.arrival : running.stats.last_token, step_end_)});
}

void Engine::report(const Launched& step, bool failed) {
  StepReport report = noted_;
  report.start = step.start;
  report.end = env_.now();
  report.schedule_ms = milliseconds_between(step.start, step.scheduled);
  report.prepare_ms = milliseconds_between(step.scheduled, step.prepared);
  report.forward_ms = milliseconds_between(wait_start_, step_end_);
  report.send_ms = std::exchange(delivery_ms_, 0.0);
  report.failed = failed;
  report.commit_ms = milliseconds_between(step_end_, report.end);
  report.prompt_tokens = prompt_tokens_done_;
  report.admitted = static_cast<std::int64_t>(step.plan.admitted.size());
  report.cached_tokens = counters_.cached_tokens - reported_.cached_tokens;
  report.queried_tokens = counters_.queried_tokens - reported_.queried_tokens;
  report.preempted = counters_.preemptions - reported_.preemptions;
  report.drafts = counters_.drafts - reported_.drafts;
  report.drafted_tokens = counters_.drafted_tokens - reported_.drafted_tokens;
  report.accepted_tokens = counters_.accepted_tokens - reported_.accepted_tokens;
  report.accepted_branch_tokens = counters_.accepted_branch_tokens - reported_.accepted_branch_tokens;
  report.swapped = counters_.swaps - reported_.swaps;
  report.numerical_errors = counters_.numerical_errors - reported_.numerical_errors;
  report.rejected = counters_.rejections - reported_.rejections;
  report.evicted_pages = cache_.counters().evicted_pages - reported_evictions_;
  report.waiting = static_cast<std::int64_t>(scheduler_.waiting().size());
  if (report.waiting > 0) {
    report.oldest_wait_ms = milliseconds_between(scheduler_.waiting().front()->arrival, report.end);
  }
  report.running = static_cast<std::int64_t>(scheduler_.running().size());
  report.paused = std::ranges::count_if(scheduler_.running(), &sched::Sequence::paused);
  report.pages = cache_.use();
  report.tokens = token_reports_;
  reported_ = counters_;
  reported_evictions_ = cache_.counters().evicted_pages;
  observer_(report);
}

}  // namespace millrace::engine
