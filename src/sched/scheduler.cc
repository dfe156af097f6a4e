#include "sched/scheduler.h"

#include <algorithm>

namespace millrace::sched {

void Scheduler::add(std::unique_ptr<Sequence> sequence) { waiting_.push_back(std::move(sequence)); }

void Scheduler::admit() {
  while (!waiting_.empty() && static_cast<std::int64_t>(running_.size()) < config_.max_sequences) {
    if (!waiting_.front()->blocks.reserve(waiting_.front()->max_total)) return;
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

StepPlan Scheduler::plan() const {
  StepPlan plan;
  std::int64_t budget = config_.max_batched_tokens;
  for (const bool decoding : {true, false}) {
    for (const auto& sequence : running_) {
      if (budget == 0) break;
      if ((sequence->remaining() == 1) != decoding) continue;
      const std::int64_t n = std::min(budget, sequence->remaining());
      plan.push_back({sequence.get(), n});
      budget -= n;
    }
  }
  return plan;
}

std::unique_ptr<Sequence> Scheduler::remove(SequenceId id) {
  const auto take = [&](auto& from) -> std::unique_ptr<Sequence> {
    const auto it = std::find_if(from.begin(), from.end(), [&](const auto& s) { return s->id == id; });
    if (it == from.end()) return nullptr;
    auto sequence = std::move(*it);
    from.erase(it);
    return sequence;
  };
  auto sequence = take(running_);
  return sequence ? std::move(sequence) : take(waiting_);
}

}  // namespace millrace::sched
