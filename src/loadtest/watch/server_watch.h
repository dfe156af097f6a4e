#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/env.h"
#include "loadtest/report/run_facts.h"
#include "loadtest/target.h"
#include "loadtest/watch/process_reading.h"
#include "loadtest/watch/served_model.h"
#include "loadtest/watch/watched_metrics.h"

namespace millrace::loadtest {

// Records the state of a server under load: /metrics twice per second and, if its process is on this machine, /proc.
// Uses a thread and a connection of its own. A server without /metrics is only watched by /proc. Keeps about two
// hundred bytes per reading.
class ServerWatch {
 public:
  static constexpr std::chrono::milliseconds kInterval{500};

  // `process` 0: not known. Takes the first reading before it returns.
  ServerWatch(const Target& target, pid_t process, std::chrono::milliseconds interval = kInterval);
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  // Takes the last reading and ends watching; call it once. Times of the samples count from `started`; earlier ones are
  // dropped. NaN in a sample: the reading lacked the value. Increases over the run are known if the first and the last
  // reading had /metrics. `read_gb_s` is this machine's memory bandwidth around the run; 0 = not measured, then MBU is
  // the server's own value.
  std::pair<report::ServerFacts, report::ServerSamples> finish(TimePoint started, const ServedModel& model,
                                                               double read_gb_s);
  // The server's processes when watching began.
  const std::vector<pid_t>& processes() const noexcept { return processes_; }

 private:
  struct Reading {
    TimePoint at{};
    std::optional<WatchedMetrics> metrics;
    std::optional<double> resident_bytes, cpu_seconds, energy_joules;
  };
  Reading read();
  void run();
  void end();
  // The last reading before the run began: it counts as the beginning.
  std::size_t first_of(TimePoint started) const;
  void add_processes(const Reading& first, const Reading& last, report::ServerFacts& facts) const;
  report::ServerSamples samples_from(std::size_t first, TimePoint started, double read_gb_s) const;

  const std::chrono::milliseconds interval_;
  Getter getter_;
  pid_t process_;
  std::vector<pid_t> processes_;
  // The thread's until it ended:
  std::vector<pid_t> family_;  // of process_, as of some seconds ago
  bool metrics_ = true;
  std::optional<double> kv_capacity_;
  ProcessReading last_process_;  // that found one
  std::vector<Reading> readings_;

  std::mutex mutex_;
  std::condition_variable woken_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace millrace::loadtest
