#include "sched/scheduler.h"

#include <algorithm>

namespace millrace::sched {

Scheduler::Scheduler(const Config& config, std::unique_ptr<SchedulePolicy> policy, const kv::PagedCache& cache)
    : config_(config), policy_(std::move(policy)), cache_(cache) {}

void Scheduler::add(Sequence& sequence, const PolicyView& view) {
  waiting_.push_back(&sequence);
  policy_->arrived(sequence, view);
}

StepPlan Scheduler::plan(const PolicyView&) const {
  StepPlan plan;
  std::int64_t budget = config_.max_batched_tokens;
  std::int32_t pages = cache_.available();
  std::vector<Sequence*> candidates = running_;
  const auto take = [&](Sequence* sequence, bool decoding) {
    if (budget == 0 || sequence->paused || sequence->remaining() == 0 || sequence->decoding() != decoding) return;
    const std::int64_t n = std::min(budget, sequence->remaining());
    plan.rows.push_back({sequence, n});
    budget -= n;
  };
  for (Sequence* sequence : running_) pages -= cache_.needed(sequence->blocks, sequence->computed, sequence->max_total);
  for (Sequence* sequence : waiting_) {
    if (static_cast<std::int64_t>(candidates.size()) >= config_.max_sequences) break;
    const std::int32_t need = cache_.needed(sequence->blocks, sequence->computed, sequence->max_total);
    if (need > pages) break;
    pages -= need;
    plan.admitted.push_back({sequence, {}});
    candidates.push_back(sequence);
  }
  for (const bool decoding : {true, false}) {
    for (Sequence* sequence : candidates) take(sequence, decoding);
  }
  return plan;
}

void Scheduler::launched(const StepPlan& plan, const PolicyView&) {
  for (const Admission& admission : plan.admitted) {
    std::erase(waiting_, admission.sequence);
    running_.push_back(admission.sequence);
    admission.sequence->state = SequenceState::kRunning;
  }
  for (const StepRow& row : plan.rows) {
    row.sequence->scheduled += row.n_tokens;
    ++row.sequence->in_flight;
  }
}

void Scheduler::committed(const StepPlan& plan, const PolicyView& view) {
  for (const StepRow& row : plan.rows) {
    row.sequence->computed += row.n_tokens;
    --row.sequence->in_flight;
    policy_->served(*row.sequence, row.n_tokens, row.sequence->remaining() == 0, view);
  }
}

void Scheduler::remove(Sequence& sequence) {
  std::erase(waiting_, &sequence);
  std::erase(running_, &sequence);
  policy_->left(sequence);
}

void Scheduler::check_integrity() const {}

}  // namespace millrace::sched
