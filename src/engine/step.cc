#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/engine.h"

namespace millrace::engine {
namespace {

constexpr std::int64_t kStepsBeforeTrust = 16;  // measured ones, until what they say of time is acted on

}  // namespace

std::vector<Output> Engine::step() {
  std::vector<Output> outputs;
  end_overdue(outputs);
  while (static_cast<int>(launched_.size()) < executor_->depth() && launch(outputs)) {
  }
  stalled_ = launched_.empty();
  if (stalled_) {
    compact_pages();
    return outputs;
  }
  Launched step = std::move(launched_.front());
  launched_.pop_front();
  if (observer_) wait_start_ = env_.now();
  const Result<TensorView> logits = executor_->wait();
  commit(std::move(step), logits, outputs);
  end_retired(outputs);
  return outputs;
}

// The plan; idle sessions give up their pages, the one used longest ago first, before anybody is preempted or kept
// waiting for pages.
sched::StepPlan Engine::plan_with_room(const sched::PolicyView& view) {
  for (;;) {
    sched::StepPlan plan = scheduler_.plan(view);
    const auto waiting = scheduler_.waiting(), running = scheduler_.running();
    const auto starves = [&](const sched::Sequence* s) {
      const std::int64_t length = std::min(s->length() + 1, s->max_total);  // as admission has it
      return !s->paused && cache_.needed(s->blocks, s->computed, length) > cache_.available();
    };
    // Passed too often, and passed again only because an idle engine serves whom it can.
    const auto overdue = [&](const sched::Sequence* s) {
      return s->bypassed >= config_.scheduling.max_bypassed &&
             std::ranges::find(plan.admitted, s, &sched::Admission::sequence) == plan.admitted.end();
    };
    const bool head_starves =
        plan.admitted.empty()
            ? !waiting.empty() && starves(waiting.front())
            : std::ranges::any_of(waiting, [&](const sched::Sequence* s) { return overdue(s) && starves(s); });
    const bool all_starve =
        plan.rows.empty() && (std::ranges::any_of(waiting, starves) || std::ranges::any_of(running, starves));
    if (plan.preempted.empty() && !head_starves && !all_starve) return plan;
    if (sessions_.reclaim() || reclaim_beams()) continue;
    // Slow readers share pages among themselves, so that none of them alone would free what is needed.
    if (all_starve && plan.preempted.empty() && launched_.empty()) {
      std::ranges::copy_if(running, std::back_inserter(plan.preempted), &sched::Sequence::paused);
    }
    return plan;
  }
}

bool Engine::launch(std::vector<Output>& outputs) {
  const sched::PolicyView now = view();
  park_beams();
  double drafting_ms = 0.0;
  if (speculation_) {
    draft(now);
    drafting_ms = milliseconds_between(now.now, env_.now());
  }
  sched::StepPlan plan = plan_with_room(now);
  for (sched::Sequence* sequence : plan.preempted) preempt(static_cast<ActiveSequence&>(*sequence));
  for (const sched::Admission& admission : plan.admitted) admit(admission);
  std::erase_if(plan.rows, [&](sched::StepRow& row) {
    sched::Sequence& s = *row.sequence;
    row.first = s.scheduled;  // earlier than planned where pages are gone that the plan counted on
    row.n_tokens = std::min(row.n_tokens, s.remaining() + std::ssize(s.drafts));
    return !cache_.reserve(s.blocks, s.scheduled, s.scheduled + row.n_tokens);
  });
  const TimePoint scheduled = observer_ ? env_.now() : now.now;
  model::BatchInput input;
  std::vector<BranchRows> branches = make_branches(plan);
  Launched step = gather(std::move(plan), std::move(branches), input);
  step.start = now.now;
  step.scheduled = scheduled;
  step.drafting_ms = drafting_ms;
  step.after_pause = stalled_;
  scheduler_.launched(step.plan, now);
  for (sched::Sequence* sequence : step.plan.preempted) {
    if (sequence->blocked) park(static_cast<ActiveSequence&>(*sequence));
  }
  for (const sched::Rejection& rejection : step.plan.rejected) {
    ++counters_.rejections;
    Output output;
    output.error = rejection.error;
    end(static_cast<ActiveSequence&>(*rejection.sequence), FinishReason::kError, std::move(output), outputs);
  }
  if (step.plan.rows.empty()) return false;
  executor_->launch(std::move(input));
  if (observer_) step.prepared = env_.now();
  launched_.push_back(std::move(step));
  return true;
}

void Engine::preempt(ActiveSequence& running) {
  if (running.state == sched::SequenceState::kRunning) {  // else a session's pages are taken back before it has begun
    settle(running, env_.now());
    running.account.preempted = true;
    running.account.lost = std::max(running.account.lost, running.computed);
    ++counters_.preemptions;
    ++running.stats.preemptions;
  }
  const auto pages = static_cast<double>(running.blocks.blocks().size());
  const double recompute_ms = cost_.cost().token_ms * static_cast<double>(running.computed);
  const bool swap = config_.preemption == Preemption::kSwap ||
                    (config_.preemption == Preemption::kAuto && 2.0 * pages * swap_ms_per_page_ < recompute_ms);
  if (swap && config_.swap_bytes > 0 && running.computed > 0 && !running.is_beam) {
    const TimePoint start = env_.now();
    running.swapped = cache_.swap_out(running.blocks, running.computed);
    if (running.swapped) {
      ++counters_.swaps;
      swap_ms_per_page_ += 0.2 * (milliseconds_between(start, env_.now()) / pages - swap_ms_per_page_);
      return;
    }
  }
  publish(running, true);
  running.blocks.truncate(0);
  running.scheduled = running.computed = 0;
}

void Engine::admit(const sched::Admission& admission) {
  auto& running = static_cast<ActiveSequence&>(*admission.sequence);
  settle(running, env_.now());
  running.account.preempted = false;
  if (running.swapped) {
    // Where others took the pages since the plan was made, what was computed is computed again.
    if (!cache_.swap_in(*running.swapped, running.blocks)) running.scheduled = running.computed = 0;
    running.swapped.reset();
  } else if (running.blocks.blocks().empty()) {
    const std::int64_t held = cache_.attach(running.blocks, admission.match, env_.now());
    running.scheduled = running.computed = std::min(held, running.length() - 1);
  }
  if (running.stats.admitted == TimePoint{}) {
    running.stats.admitted = running.account.mark;
    running.stats.cached_tokens = std::min(running.computed, running.prompt_tokens);
    counters_.cached_tokens += running.stats.cached_tokens;
    counters_.queried_tokens += running.prompt_tokens;
  }
}

// Pages for the branches of rows that have theirs. A branch that gets none is left out, and those after it.
std::vector<Engine::BranchRows> Engine::make_branches(sched::StepPlan& plan) {
  std::vector<BranchRows> branches;
  for (sched::StepRow& row : plan.rows) {
    const sched::Sequence& s = *row.sequence;
    const std::int64_t last = s.length() - 1;
    if (row.first != last || row.drafted() < std::ssize(s.drafts)) row.branches = 0;
    for (std::size_t i = 0; i < row.branches; ++i) {
      BranchRows branch{.blocks = cache_.make_table()};
      branch.blocks.share(s.blocks.blocks().first(s.blocks.pages_for(last)));
      if (cache_.reserve(branch.blocks, last, s.length() + std::ssize(s.branches[i]))) {
        branches.push_back(std::move(branch));
      } else {
        row.branches = i;
      }
    }
  }
  return branches;
}

// After the rows: the last token again, and the branch's, each with its logits.
void Engine::gather_branches(Launched& step, model::BatchInput& input) {
  std::size_t next = 0;
  for (const sched::StepRow& row : step.plan.rows) {
    const sched::Sequence& sequence = *row.sequence;
    for (std::size_t i = 0; i < row.branches; ++i) {
      BranchRows& branch = step.branches[next++];
      const auto first = static_cast<std::int64_t>(input.tokens.size());
      branch.first_logits = static_cast<std::int64_t>(input.logit_rows.size());
      input.tokens.push_back(sequence.tokens.back());
      input.tokens.insert(input.tokens.end(), sequence.branches[i].begin(), sequence.branches[i].end());
      const std::int64_t n = static_cast<std::int64_t>(input.tokens.size()) - first;
      for (std::int64_t j = 0; j < n; ++j) input.logit_rows.push_back(first + j);
      input.sequences.push_back(
          {.first_row = first, .n_rows = n, .first_position = sequence.length() - 1, .pages = branch.blocks.blocks()});
    }
  }
}

Engine::Launched Engine::gather(sched::StepPlan plan, std::vector<BranchRows> branches, model::BatchInput& input) {
  Launched step;
  for (const sched::StepRow& row : plan.rows) {
    const auto& sequence = static_cast<const ActiveSequence&>(*row.sequence);
    backend::SequenceRows rows;
    rows.first_row = static_cast<std::int64_t>(input.tokens.size());
    rows.n_rows = row.n_tokens;
    rows.first_position = sequence.scheduled;
    rows.pages = sequence.blocks.blocks();
    input.sequences.push_back(rows);
    const std::int64_t drafted = row.drafted();
    const auto begin = sequence.tokens.begin() + sequence.scheduled;
    input.tokens.insert(input.tokens.end(), begin, begin + (row.n_tokens - drafted));
    input.tokens.insert(input.tokens.end(), sequence.drafts.begin(), sequence.drafts.begin() + drafted);
    if (row.samples() && sequence.draws) {
      for (std::int64_t behind = drafted; behind >= 0; --behind) {
        input.logit_rows.push_back(static_cast<std::int64_t>(input.tokens.size()) - 1 - behind);
      }
    }
    if (sequence.reading && row.first < sequence.prompt_tokens) {
      if (!step.prompt_rows) step.prompt_rows = std::make_unique<PromptRows>(scorer_);
      step.prompt_rows->add(*sequence.reading, row, rows.first_row, input);
    }
  }
  step.work = sched::work_of(plan);
  step.work.samples += static_cast<std::int64_t>(input.scored_rows.size());
  step.plan = std::move(plan);
  step.branches = std::move(branches);
  gather_branches(step, input);
  return step;
}

void Engine::commit(Launched step, const Result<TensorView>& logits, std::vector<Output>& outputs) {
  ++counters_.steps;
  counters_.computed_tokens += step.work.tokens;
  const TimePoint last_end = std::exchange(step_end_, env_.now());
  outputs.reserve(outputs.size() + step.plan.rows.size());
  if (logits) {
    cost_.observe(step.work, milliseconds_between(step.start, step_end_) - step.drafting_ms);
    if (cost_.observations() >= kStepsBeforeTrust) {
      cache_.set_recompute_ms_per_page(cost_.cost().token_ms * static_cast<double>(cache_.block_tokens()));
    }
  }
  if (observer_ || measure_) note_rows(step);
  const StepTime time = time_of(step, last_end);
  begin_accounting(time);
  scheduler_.committed(step.plan, view());
  if (!logits) ++counters_.failed_steps;
  if (logits) sample_side_by_side(step, *logits);
  std::int64_t logit_row = 0;
  std::span<BranchRows> other_branches = step.branches;
  for (std::size_t i = 0; i < step.plan.rows.size(); ++i) {
    const sched::StepRow& planned = step.plan.rows[i];
    auto& running = static_cast<ActiveSequence&>(*planned.sequence);
    const std::span<BranchRows> branches = other_branches.first(planned.branches);
    other_branches = other_branches.subspan(planned.branches);
    if (planned.n_tokens > 1 || !running.account.continues(time.begin, step_end_, epoch_.step)) account(planned, time);
    if (!logits && running.ending != FinishReason::kNone) {  // ends with end_retired()
      running.ending = FinishReason::kError;
      running.failure = logits.error();
      continue;
    }
    if (!logits && running.is_beam) {
      failed_beams_.emplace_back(running.request, logits.error());
      continue;
    }
    if (!logits) {
      Output output;
      output.error = logits.error();
      end(running, FinishReason::kError, std::move(output), outputs);
      continue;
    }
    const bool whole = planned.samples();
    const std::int64_t drafted = planned.drafted();
    const std::int64_t first_logits = logit_row;
    if (whole && running.draws) logit_row += 1 + drafted;
    if (running.ending != FinishReason::kNone) {  // it was not checked whether these are numbers: not kept
      running.computed -= planned.n_tokens;
      running.scheduled -= planned.n_tokens;
      continue;
    }
    if (running.reading && planned.first < running.prompt_tokens) {
      if (auto read = step.prompt_rows->deliver(*running.reading); !read) {
        fail(running, read.error(), outputs);
        continue;
      }
      running.shareable_tokens = running.reading->shareable_tokens(running.prompt_tokens);
    }
    running.computed -= drafted;  // those that are right come back one by one
    running.scheduled -= drafted;
    const std::int64_t block = cache_.block_tokens();
    if (config_.prefix_caching && running.computed / block > running.blocks.cursor().tokens / block)
      publish(running, false);
    if (!whole) continue;
    if (running.draws) {
      sample_row(running, *logits, first_logits, drafted, branches, outputs);
    } else {
      finish_reading(running, outputs);
    }
  }
  step.branches.clear();
  advance_beams(outputs);
  if (observer_) report(step, !logits);
}

// Guesses what the running sequences go on with.
void Engine::draft(const sched::PolicyView& view) {
  std::vector<ActiveSequence*> decoding;
  sched::StepWork work;
  for (sched::Sequence* sequence : scheduler_.running()) {
    if (sequence->paused || sequence->remaining() <= 0) continue;
    if (sequence->decoding()) {
      work.add(1, sequence->scheduled);
      ++work.samples;
      auto* running = static_cast<ActiveSequence*>(sequence);
      if (speculation_->computes() && !make_room_to_draft(*running)) continue;
      decoding.push_back(running);
    } else {
      // None where those that decode are more than a step takes.
      const std::int64_t room = std::max<std::int64_t>(0, config_.scheduling.max_batched_tokens - work.tokens);
      work.add(std::min(sequence->remaining(), room), sequence->scheduled);
    }
  }
  if (!decoding.empty()) speculation_->draft(decoding, work, view.cost, *executor_, env_);
}

// Only out of pages that no request waits for.
bool Engine::make_room_to_draft(ActiveSequence& running) {
  const std::int64_t tokens = running.length() + speculation_->most(running);
  const std::int32_t pages = scheduler_.waiting().empty() ? cache_.available() : cache_.use().free;
  if (cache_.needed(running.blocks, running.scheduled, tokens) > pages) return false;
  return cache_.reserve(running.blocks, running.scheduled, tokens);
}

void Engine::publish(ActiveSequence& running, bool partial) {
  cache_.publish(running.scope, running.blocks,
                 std::span(running.tokens).first(static_cast<std::size_t>(running.computed)), partial,
                 running.retention, env_.now());
}

}  // namespace millrace::engine
