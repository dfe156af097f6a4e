#include "engine/preemptor.h"

#include <algorithm>

namespace millrace::engine {

void Preemptor::preempt(ActiveSequence& sequence) {
  if (sequence.state == sched::SequenceState::kRunning) {  // else a session's pages are taken back before it has begun
    accounting_.settle(sequence, state_.env.now());
    sequence.account.preempted = true;
    sequence.account.lost = std::max(sequence.account.lost, sequence.computed);
    ++state_.counters.preemptions;
    ++sequence.stats.preemptions;
  }
  if (swap_out(sequence)) return;
  state_.publish(sequence, true);
  sequence.blocks.truncate(0);
  sequence.scheduled = sequence.computed = 0;
}

bool Preemptor::swap_out(ActiveSequence& sequence) {
  const Config& config = state_.config;
  const auto pages = static_cast<double>(sequence.blocks.blocks().size());
  const double recompute_ms = state_.cost.cost().token_ms * static_cast<double>(sequence.computed);
  const bool swap = config.preemption == Preemption::kSwap ||
                    (config.preemption == Preemption::kAuto && 2.0 * pages * swap_ms_per_page_ < recompute_ms);
  if (!swap || config.swap_bytes == 0 || sequence.computed == 0 || sequence.is_beam) return false;
  const TimePoint start = state_.env.now();
  do {  // idle sessions give way
    sequence.swapped = state_.cache.swap_out(sequence.blocks, sequence.computed);
  } while (!sequence.swapped && state_.sessions.reclaim_swap_space());
  if (!sequence.swapped) return false;
  ++state_.counters.swaps;
  swap_ms_per_page_ += 0.2 * (milliseconds_between(start, state_.env.now()) / pages - swap_ms_per_page_);
  return true;
}

void Preemptor::admit(const sched::Admission& admission) {
  auto& sequence = static_cast<ActiveSequence&>(*admission.sequence);
  accounting_.settle(sequence, state_.env.now());
  sequence.account.preempted = false;
  if (sequence.swapped) {
    // Where others took the pages since the plan was made, what was computed is computed again.
    if (!state_.cache.swap_in(*sequence.swapped, sequence.blocks)) sequence.scheduled = sequence.computed = 0;
    sequence.blocks.truncate(sequence.computed);  // of a session more pages may come back than its prompt shares
    sequence.swapped.reset();
  } else if (sequence.blocks.blocks().empty()) {
    const std::int64_t held = state_.cache.attach(sequence.blocks, admission.match, state_.env.now());
    sequence.scheduled = sequence.computed = std::min(held, sequence.length() - 1);
  }
  if (sequence.stats.admitted == TimePoint{}) {
    sequence.stats.admitted = sequence.account.mark;
    sequence.stats.cached_tokens = std::min(sequence.computed, sequence.prompt_tokens);
    state_.counters.cached_tokens += sequence.stats.cached_tokens;
    state_.counters.queried_tokens += sequence.prompt_tokens;
  }
}

}  // namespace millrace::engine
