#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/env.h"

namespace millrace::engine {

class Engine;

// Work for the time in which an engine has no requests, on the engine's thread.
struct IdleTask {
  double after_seconds = 0.0;   // of idleness
  double period_seconds = 0.0;  // from its end to its next run; 0: once for each time of idleness
  // Returns whether it has more to do, for which it is called again soon. A request that comes meanwhile waits for it.
  // Must not throw.
  std::function<bool(Engine& engine, double idle_seconds)> run;
};

// Which task is due. One thread; times must not go back.
class IdleTasks {
 public:
  IdleTasks(std::vector<IdleTask> tasks, TimePoint now);

  // There are requests now, or were until now: the time of idleness begins anew.
  void busy(TimePoint now) noexcept { idle_since_ = now; }
  // Runs a task that is due; false: none is.
  bool run_one(Engine& engine, TimePoint now);
  std::optional<TimePoint> next() const;  // when one is due; nothing: none will be before the next request

 private:
  struct Entry {
    IdleTask task;
    std::optional<TimePoint> ended;  // its last run that had no more to do
  };
  std::optional<TimePoint> due(const Entry& entry) const;

  std::vector<Entry> entries_;
  TimePoint idle_since_;
};

}  // namespace millrace::engine
