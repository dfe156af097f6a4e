#include "engine/step_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "engine/batch_builder.h"
#include "model/weight_walk.h"

namespace millrace::engine {
namespace {

constexpr int kMaxFailures = 5;                 // of steps in a row, until what they are about is given up
constexpr std::int64_t kStepsBeforeTrust = 16;  // measured ones, until what they say of time is acted on

}  // namespace

StepLoop::StepLoop(EngineState& state) : state_(state) {}

StepLoop::~StepLoop() {
  for (; !launched_.empty(); launched_.pop_front()) {
    try {
      (void)state_.executor->wait();
    } catch (const model::DamagedWeights& failure) {  // step() has said so
      log::debug("{}", failure.what());
    }
  }
}

bool StepLoop::step(std::vector<Output>& outputs) try {
  endings_.end_overdue(outputs);
  while (static_cast<int>(launched_.size()) < state_.executor->depth() && launch(outputs)) {
  }
  after_pause_ = launched_.empty();
  if (after_pause_) return false;
  finish_oldest(outputs);
  return true;
} catch (const model::DamagedWeights&) {
  forget_kept();
  throw;
}

void StepLoop::finish_launched(std::vector<Output>& outputs) {
  while (!launched_.empty()) finish_oldest(outputs);
}

void StepLoop::finish_oldest(std::vector<Output>& outputs) {
  LaunchedStep step = std::move(launched_.front());
  launched_.pop_front();
  if (reporter_.observed()) reporter_.note_wait();
  const Result<StepResult> result = state_.executor->wait();
  if (result) failures_ = 0;
  if (!result && result.error().code == ErrorCode::kUnavailable) {
    lose(std::move(step), result, outputs);
  } else {
    commit(std::move(step), result, outputs);
  }
  endings_.end_retired(outputs);
}

void StepLoop::collect(std::vector<const kv::BlockTable*>& tables) const {
  for (const LaunchedStep& step : launched_) {
    for (const BranchRows& branch : step.branches) tables.push_back(&branch.blocks);
  }
}

bool StepLoop::starves(const sched::Sequence& s) const {
  const std::int64_t length = std::min(s.planned_length() + 1, s.max_total);  // as admission has it
  const std::int32_t pages = state_.cache.needed(s.blocks, s.computed, length);
  kv::PageCount needed{.pages = pages};
  if (const kv::WindowPages* window = state_.cache.window()) needed.window = std::min(pages, window->span());
  return !s.paused && !s.adapters_missing && !needed.fits_in(state_.cache.room());
}

// The plan; idle sessions give up their pages, the one used longest ago first, before anybody is preempted or kept
// waiting for pages.
sched::StepPlan StepLoop::plan_with_capacity(const sched::PolicyView& view) {
  for (;;) {
    sched::StepPlan plan = state_.scheduler.plan(view);
    const auto waiting = state_.scheduler.waiting(), running = state_.scheduler.running();
    const auto starving = [&](const sched::Sequence* s) { return starves(*s); };
    // Passed too often, and passed again only because an idle engine serves whom it can.
    const auto overdue = [&](const sched::Sequence* s) {
      return s->bypassed >= state_.config.scheduling.max_bypassed &&
             std::ranges::find(plan.admitted, s, &sched::Admission::sequence) == plan.admitted.end();
    };
    const bool head_starves =
        plan.admitted.empty()
            ? !waiting.empty() && starves(*waiting.front())
            : std::ranges::any_of(waiting, [&](const sched::Sequence* s) { return overdue(s) && starves(*s); });
    const bool all_starve =
        plan.rows.empty() && (std::ranges::any_of(waiting, starving) || std::ranges::any_of(running, starving));
    if (plan.preempted.empty() && !head_starves && !all_starve) return plan;
    if (state_.sessions.reclaim() || beams_.reclaim()) continue;
    // Slow readers share pages among themselves, so that none of them alone would free what is needed.
    if (all_starve && plan.preempted.empty() && launched_.empty()) {
      std::ranges::copy_if(running, std::back_inserter(plan.preempted), &sched::Sequence::paused);
    }
    return plan;
  }
}

// Whether the executor can sample the sequence's next token, so that the steps after this one go on from it. Not where
// more than its row decides on the token, or more than the token is taken from the row.
bool StepLoop::feeds(const ActiveSequence& sequence) const {
  if (!sequence.row_sampling || !sequence.draws) return false;
  if (!state_.executor->feeds() || state_.speculation || sequence.is_beam || sequence.reading) return false;
  const bool forks = sequence.choice == 0 && sequence.planned_length() == sequence.prompt_tokens;
  return !forks || state_.requests.at(sequence.request).request.n == 1;
}

// Rows that get no pages are left out.
void StepLoop::take_pages(sched::StepPlan& plan) {
  for (sched::Sequence* sequence : plan.preempted) preemptor_.preempt(static_cast<ActiveSequence&>(*sequence));
  for (const sched::Admission& admission : plan.admitted) preemptor_.admit(admission);
  std::erase_if(plan.rows, [&](sched::StepRow& row) {
    sched::Sequence& s = *row.sequence;
    row.first = s.scheduled;  // earlier than planned where pages are gone that the plan counted on
    row.n_tokens = std::min(row.n_tokens, s.remaining() + std::ssize(s.drafts));
    row.feeds = feeds(static_cast<ActiveSequence&>(s));
    return !state_.cache.reserve(s.blocks, s.scheduled, s.scheduled + row.n_tokens);
  });
}

bool StepLoop::launch(std::vector<Output>& outputs) {
  const sched::PolicyView now = state_.view();
  for (sched::Sequence* sequence : state_.scheduler.running()) sequence->blocks.release_behind(sequence->computed);
  beams_.park_scored();
  if (state_.adapters_missing) seats_.take(now, outputs);
  double drafting_ms = 0.0;
  if (state_.speculation) {
    draft(now);
    drafting_ms = milliseconds_between(now.now, state_.env.now());
  }
  sched::StepPlan plan = plan_with_capacity(now);
  take_pages(plan);
  const TimePoint scheduled = reporter_.observed() ? state_.env.now() : now.now;
  StepInput input;
  LaunchedStep step = build_batch(std::move(plan), launches_, state_.cache, input);
  step.start = now.now;
  step.scheduled = scheduled;
  step.drafting_ms = drafting_ms;
  step.after_pause = after_pause_;
  state_.scheduler.launched(step.plan, now);
  for (sched::Sequence* sequence : step.plan.preempted) {
    if (sequence->blocked) beams_.park(static_cast<ActiveSequence&>(*sequence));
  }
  reject(step.plan, outputs);
  if (step.plan.rows.empty()) return false;
  state_.executor->launch(std::move(input));
  ++launches_;
  if (reporter_.observed()) step.prepared = state_.env.now();
  launched_.push_back(std::move(step));
  return true;
}

void StepLoop::reject(const sched::StepPlan& plan, std::vector<Output>& outputs) {
  for (const sched::Rejection& rejection : plan.rejected) {
    ++state_.counters.rejections;
    Output output;
    output.error = rejection.error;
    endings_.end(static_cast<ActiveSequence&>(*rejection.sequence), FinishReason::kError, std::move(output), outputs);
  }
}

// Drafts what the running sequences may go on with.
void StepLoop::draft(const sched::PolicyView& view) {
  std::vector<ActiveSequence*> decoding;
  sched::StepWork work;
  for (sched::Sequence* sequence : state_.scheduler.running()) {
    if (sequence->paused || sequence->remaining() <= 0) continue;
    if (sequence->decoding()) {
      work.add(1, sequence->scheduled);
      ++work.samples;
      auto* active = static_cast<ActiveSequence*>(sequence);
      if (state_.speculation->computes() && !reserve_for_drafts(*active)) continue;
      decoding.push_back(active);
    } else {
      // None where those that decode are more than a step takes.
      const std::int64_t capacity =
          std::max<std::int64_t>(0, state_.config.scheduling.max_batched_tokens - work.tokens);
      work.add(std::min(sequence->remaining(), capacity), sequence->scheduled);
    }
  }
  if (!decoding.empty()) state_.speculation->draft(decoding, work, view.cost, state_.env);
}

// Only out of pages that no request waits for.
bool StepLoop::reserve_for_drafts(ActiveSequence& sequence) {
  kv::PagedCache& cache = state_.cache;
  const std::int64_t tokens = sequence.length() + state_.speculation->most(sequence);
  const kv::CacheUse use = cache.use();
  const std::int32_t free = cache.window() != nullptr ? std::min(use.free, use.window_free) : use.free;
  const std::int32_t pages = state_.scheduler.waiting().empty() ? cache.available() : free;
  if (cache.needed(sequence.blocks, sequence.scheduled, tokens) > pages) return false;
  return cache.reserve(sequence.blocks, sequence.scheduled, tokens);
}

// With the step all that are launched are lost, and all pages.
void StepLoop::lose(LaunchedStep step, const Result<StepResult>& result, std::vector<Output>& outputs) {
  state_.cache.lose();
  std::deque<LaunchedStep> lost = std::exchange(launched_, {});
  for (std::size_t i = 0; i < lost.size(); ++i) (void)state_.executor->wait();
  lost.push_front(std::move(step));
  if (!recover(lost, result.error())) {
    for (LaunchedStep& each : lost) commit(std::move(each), result, outputs);
  }
  if (result.error().param == model::kDamage) forget_kept();
  forget_pages();
  seats_.share_again(outputs);
  beams_.advance(outputs);  // of those with all scores, nothing is in flight now
}

bool StepLoop::recover(std::deque<LaunchedStep>& lost, const Error& error) {
  while (state_.sessions.reclaim()) {
  }
  const auto recovered = state_.executor->recover();
  if (!recovered) log::error("the device cannot be used again: {}", recovered.error().message);
  const bool again = recovered && ++failures_ <= kMaxFailures;  // it may be what these requests compute that fails
  log::warn("a step has failed: {}{}", error.message, again ? "; it is to be computed again" : "");
  if (!again) {
    failures_ = 0;
    return false;
  }
  for (LaunchedStep& step : lost) {
    ++state_.counters.failed_steps;
    state_.scheduler.committed(step.plan, state_.view());
    step.branches.clear();
  }
  return true;
}

// Pages outside the device's memory, where it is not known since when weights are damaged that they were computed with.
void StepLoop::forget_kept() {
  state_.cache.clear(true);
  while (state_.sessions.reclaim_swap_space()) {
  }
  const auto forget = [](sched::Sequence* s) {
    if (!std::exchange(static_cast<ActiveSequence*>(s)->swapped, std::nullopt)) return;
    s->scheduled = s->computed = 0;
  };
  std::ranges::for_each(state_.scheduler.running(), forget);
  std::ranges::for_each(state_.scheduler.waiting(), forget);
}

// All that was computed is computed again; what is in swap space is there still.
void StepLoop::forget_pages() {
  const auto forget = [](sched::Sequence* s) {
    s->drafts.clear();
    s->branches.clear();
    if (static_cast<ActiveSequence*>(s)->swapped) return;
    s->blocks.truncate(0);
    s->scheduled = s->computed = 0;
    s->attached_pages = 0;  // else they would be counted against those that wait
  };
  std::ranges::for_each(state_.scheduler.running(), forget);
  std::ranges::for_each(state_.scheduler.waiting(), forget);
  for (const RequestId id : state_.requests.searches()) {  // beams that have scores may be in nobody's hands
    for (const auto& beam : state_.requests.at(id).answers) {
      if (beam != nullptr) forget(beam.get());
    }
  }
  state_.cache.clear();
}

void StepLoop::commit(LaunchedStep step, const Result<StepResult>& result, std::vector<Output>& outputs) {
  ++state_.counters.steps;
  state_.counters.computed_tokens += step.work.tokens;
  const TimePoint last_end = std::exchange(state_.step_end, state_.env.now());
  outputs.reserve(outputs.size() + step.plan.rows.size());
  if (result) learn_cost(step);
  const model::ExpertUse experts = result ? result->experts : model::ExpertUse{};
  const StepWorkload workload = reporter_.note_rows(step, experts);
  if (result) reporter_.note_ranks(result->ranks);
  const StepTime time = accounting_.begin_step(step, last_end, workload, experts);
  state_.scheduler.committed(step.plan, state_.view());
  if (result) {
    state_.note_overflows(result->kv_overflows);
    note_weight_rounds(result->weight_rounds);
    sampler_.sample_side_by_side(step, result->logits);
  } else {
    ++state_.counters.failed_steps;
  }
  Place place{.branches = step.branches};
  for (const sched::StepRow& row : step.plan.rows) {
    accounting_.account(row, time);
    if (result) {
      commit_row(step, row, *result, place, outputs);
    } else {
      fail_row(row, result.error(), outputs);
    }
  }
  step.branches.clear();
  beams_.advance(outputs);
  reporter_.report(step, !result);
}

// Ranks that are started anew begin to count again.
void StepLoop::note_weight_rounds(std::int64_t rounds) {
  if (rounds > weight_rounds_) state_.counters.weight_rounds += rounds - weight_rounds_;
  weight_rounds_ = rounds;
}

void StepLoop::learn_cost(const LaunchedStep& step) {
  state_.cost.observe(step.work, milliseconds_between(step.start, state_.step_end) - step.drafting_ms);
  if (state_.cost.observations() < kStepsBeforeTrust) return;
  state_.cache.set_recompute_ms_per_page(state_.cost.cost().token_ms *
                                         static_cast<double>(state_.cache.block_tokens()));
}

// Nothing that the row computed is kept.
void StepLoop::uncount(const sched::StepRow& row) {
  row.sequence->computed -= row.n_tokens;
  row.sequence->scheduled -= row.n_tokens;
}

void StepLoop::fail_row(const sched::StepRow& row, const Error& error, std::vector<Output>& outputs) {
  auto& sequence = static_cast<ActiveSequence&>(*row.sequence);
  if (sequence.ending != FinishReason::kNone) {  // ends with end_retired()
    uncount(row);
    if (sequence.ending == FinishReason::kStop || sequence.ending == FinishReason::kLength)
      return;  // had its end before
    sequence.ending = FinishReason::kError;
    sequence.last_output->error = error;
  } else if (sequence.is_beam) {
    beams_.fail(sequence, error);
  } else {
    Output output;
    output.error = error;
    endings_.end(sequence, FinishReason::kError, std::move(output), outputs);
  }
}

void StepLoop::commit_row(const LaunchedStep& step, const sched::StepRow& row, const StepResult& result, Place& place,
                          std::vector<Output>& outputs) {
  auto& sequence = static_cast<ActiveSequence&>(*row.sequence);
  const bool whole = row.samples();
  const std::int64_t drafted = row.drafted(), first_logits = place.logit_row;
  const std::span<BranchRows> branches = place.branches.first(row.branches);
  place.branches = place.branches.subspan(row.branches);
  const bool fed = whole && row.feeds;
  const std::size_t sampled_row = place.sampled;
  if (fed) {
    ++place.sampled;
  } else if (whole && sequence.draws) {
    place.logit_row += 1 + drafted;
  }
  // It was not checked whether these are numbers: not kept.
  if (sequence.ending != FinishReason::kNone) return uncount(row);
  if (sequence.reading && row.first < sequence.prompt_tokens) {
    if (auto read = step.prompt_rows->deliver(*sequence.reading, result); !read) {
      return endings_.fail(sequence, read.error(), outputs);
    }
    sequence.shareable_tokens = sequence.reading->shareable_tokens(sequence.prompt_tokens);
  }
  sequence.computed -= drafted;  // those that are right come back one by one
  sequence.scheduled -= drafted;
  const std::int64_t block = state_.cache.block_tokens();
  if (state_.config.prefix_caching && sequence.computed / block > sequence.blocks.cursor().tokens / block)
    state_.publish(sequence, false);
  if (!whole) return;
  if (fed) {
    sampler_.take_fed(sequence, result.sampled[sampled_row], outputs);
  } else if (sequence.draws) {
    sampler_.sample_row(sequence, result.logits, first_logits, drafted, branches, outputs);
  } else {
    sampler_.finish_reading(sequence, outputs);
  }
}

}  // namespace millrace::engine
