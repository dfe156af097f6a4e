#include "engine/time_accounting.h"

#include <algorithm>
#include <utility>

namespace millrace::engine {
namespace {

// Time until then that the answer spent in no step.
void spend_outside(ActiveSequence& sequence, TimePoint until) {
  TimeAccount& account = sequence.account;
  if (until <= account.mark) return;
  const double ms = milliseconds_between(account.mark, until);
  account.mark = until;
  TimeSpent& spent = account.spent;
  if (sequence.paused && sequence.ending == FinishReason::kNone) {
    spent.paused_ms += ms;
  } else if (account.preempted) {
    spent.preempted_ms += ms;
  } else if (sequence.state == sched::SequenceState::kWaiting) {
    (sequence.adapters_missing ? spent.adapters_ms : spent.queue_ms) += ms;
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

void TimeAccounting::settle(ActiveSequence& sequence, TimePoint now) {
  if (sequence.in_flight > 0) return;
  close(sequence.account);
  spend_outside(sequence, now);
}

// A step lasts from the end of the one before it, whose tokens it goes on from, unless there was nothing to compute in
// between. What its rows would have taken alone is what the cost model says of them, scaled so that the model is right
// about the whole step.
StepTime TimeAccounting::time_of(const LaunchedStep& step, TimePoint last_end, const StepWorkload& workload) const {
  const sched::StepCost& cost = state_.cost.cost();
  StepTime time{.begin = step.after_pause ? step.start : std::min(last_end, state_.step_end), .workload = workload};
  time.whole_ms = milliseconds_between(time.begin, state_.step_end);
  time.scale = time.whole_ms / std::max(cost.milliseconds(step.work), 1e-9);
  time.token_ms = time.scale * cost.milliseconds({.tokens = 1, .kv_tokens = 1, .samples = 1});
  time.kv_token_ms = time.scale * cost.kv_token_ms;
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
StepTime TimeAccounting::begin_step(const LaunchedStep& step, TimePoint last_end, const StepWorkload& workload,
                                    const model::ExpertUse& experts) {
  StepTime time = time_of(step, last_end, workload);
  time.experts = experts;
  if (step_ == kSteps) {
    state_.requests.for_each_answer([&](ActiveSequence& answer) { close(answer.account); });
    step_ = 0;
  }
  const Sums& before = sums_[static_cast<std::size_t>(step_++)];
  Sums& after = sums_[static_cast<std::size_t>(step_)];
  after = {.token_ms = before.token_ms + time.token_ms,
           .kv_token_ms = before.kv_token_ms + time.kv_token_ms,
           .kv_token_ms_by_step = before.kv_token_ms_by_step + time.kv_token_ms * step_,
           .prompts_ms = before.prompts_ms + time.prompts_ms,
           .read_bytes = before.read_bytes + time.workload.read_bytes,
           .experts = before.experts};
  after.experts += experts;
  return time;
}

// The token of step i stood at streak_first + i - (streak_begin + 1).
void TimeAccounting::close(TimeAccount& account) const {
  if (account.streak_begin == TimeAccount::kNoStreak) return;
  const Sums& from = sums_[static_cast<std::size_t>(account.streak_begin)];
  const Sums& to = sums_[static_cast<std::size_t>(account.streak_end)];
  const double ms = milliseconds_between(account.streak_mark, account.mark);
  const auto first = static_cast<double>(account.streak_first - account.streak_begin - 1);
  const double alone = std::min(ms, to.token_ms - from.token_ms + first * (to.kv_token_ms - from.kv_token_ms) +
                                        to.kv_token_ms_by_step - from.kv_token_ms_by_step);
  const double prompts = std::min(to.prompts_ms - from.prompts_ms, ms - alone);
  account.spent.decode_ms += alone;
  account.spent.decode_prefill_ms += prompts;
  account.spent.decode_batch_ms += ms - alone - prompts;
  account.spent.decode_read_bytes += to.read_bytes - from.read_bytes;
  account.spent.decode_experts += to.experts;
  account.spent.decode_experts -= from.experts;
  account.spent.steps += account.streak_end - account.streak_begin;
  account.streak_begin = TimeAccount::kNoStreak;
}

void TimeAccounting::account(const sched::StepRow& row, const StepTime& step) {
  auto& sequence = static_cast<ActiveSequence&>(*row.sequence);
  if (row.n_tokens > 1 || !sequence.account.continues(step.begin, state_.step_end, step_)) account_row(row, step);
}

void TimeAccounting::account_row(const sched::StepRow& row, const StepTime& step) {
  const bool samples = row.samples();
  auto& sequence = static_cast<ActiveSequence&>(*row.sequence);
  TimeAccount& account = sequence.account;
  const bool decodes = row.n_tokens - row.drafted() == 1 && samples && sequence.stats.output_tokens > 0;
  close(account);
  if (account.mark != step.begin) {
    if (sequence.ending == FinishReason::kStop || sequence.ending == FinishReason::kLength) return;  // has its end
    spend_outside(sequence, step.begin);
  }
  if (decodes && row.n_tokens == 1 && account.mark == step.begin) {
    account.streak_begin = step_ - 1;
    account.streak_end = step_;
    account.streak_first = row.first;
    account.streak_mark = account.mark;
    account.mark = state_.step_end;
    return;
  }
  ++account.spent.steps;
  const double ms = std::max(0.0, milliseconds_between(account.mark, state_.step_end));
  account.mark = state_.step_end;
  sched::StepWork own;
  row.add_to(own);
  const double alone = std::min(ms, step.scale * state_.cost.cost().milliseconds(own));
  const double share = step.whole_ms > 0.0 ? ms / step.whole_ms : 0.0;  // of the step: it may have come later
  if (decodes) {  // with drafted tokens, or after its admission, which came later than the step's begin
    const double prompts = std::min(step.prompts_ms, ms - alone);
    account.spent.decode_ms += alone;
    account.spent.decode_prefill_ms += prompts;
    account.spent.decode_batch_ms += ms - alone - prompts;
    account.spent.decode_read_bytes += step.workload.read_bytes * share;
    model::ExpertUse experts = step.experts;
    experts.bytes *= share;
    account.spent.decode_experts += experts;
  } else {
    spend_in_prefill(account, row, ms, alone);
    account.spent.prefill_operations += step.workload.operations * share;
  }
}

}  // namespace millrace::engine
