#pragma once

#include <sys/types.h>

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
#include "server/observe/metrics_reading.h"

namespace millrace::loadtest {

// What a server says of itself while it is under load: /metrics twice a second and, where its process is this
// machine's, /proc. On a thread of its own, on a connection of its own. A server without /metrics is watched by /proc
// alone.
class ServerWatch {
 public:
  // `process` 0: none to be seen. Takes the first reading before it returns.
  ServerWatch(const Target& target, pid_t process);
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  // Takes the last reading and ends watching. Times of the samples count from `started`, which cuts off what was
  // before. `read_gb_s`: what this machine's memory gave around the run, 0 = not measured: then MBU is what the server
  // says.
  std::pair<report::ServerFacts, report::ServerSamples> finish(TimePoint started, const ServedModel& model,
                                                               double read_gb_s);
  // Those of the server, as of the first reading. Any time.
  const std::vector<pid_t>& processes() const noexcept { return processes_; }

 private:
  struct Reading {
    TimePoint at{};
    std::optional<server::observe::MetricsReading> metrics;
    ProcessReading process;
    std::optional<double> energy_joules;
  };
  Reading read();
  void run();
  void end();
  // The last reading before the run began: it counts as the beginning.
  std::size_t first_of(TimePoint started) const;
  void add_processes(const Reading& first, const Reading& last, report::ServerFacts& facts) const;
  report::ServerSamples samples_from(std::size_t first, TimePoint started, double read_gb_s) const;

  Getter getter_;
  pid_t process_;
  std::vector<pid_t> family_;  // of process_, as of some seconds ago
  std::vector<pid_t> processes_;
  bool metrics_ = true;
  ProcessReading last_process_;
  std::vector<Reading> readings_;  // of the thread's until it ended
  std::mutex mutex_;
  std::condition_variable woken_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace millrace::loadtest
