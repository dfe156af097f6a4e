#include "engine/idle_tasks.h"

#include <algorithm>
#include <chrono>

namespace millrace::engine {
namespace {

TimePoint later(TimePoint time, double seconds) {
  return time + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

IdleTasks::IdleTasks(std::vector<IdleTask> tasks, TimePoint now) : idle_since_(now) {
  for (IdleTask& task : tasks) entries_.push_back({std::move(task), {}});
}

std::optional<TimePoint> IdleTasks::due(const Entry& entry) const {
  const TimePoint first = later(idle_since_, entry.task.after_seconds);
  if (!entry.ended) return first;
  if (entry.task.period_seconds > 0.0) return std::max(first, later(*entry.ended, entry.task.period_seconds));
  if (*entry.ended >= idle_since_) return std::nullopt;
  return first;
}

bool IdleTasks::run_one(Engine& engine, TimePoint now) {
  for (Entry& entry : entries_) {
    const auto when = due(entry);
    if (!when || *when > now) continue;
    if (!entry.task.run(engine, milliseconds_between(idle_since_, now) / 1e3)) entry.ended = now;
    return true;
  }
  return false;
}

std::optional<TimePoint> IdleTasks::next() const {
  std::optional<TimePoint> next;
  for (const Entry& entry : entries_) {
    if (const auto when = due(entry); when && (!next || *when < *next)) next = when;
  }
  return next;
}

}  // namespace millrace::engine
