#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/load_flags.h"
#include "bench/load/scratch_folder.h"
#include "loadtest/interference.h"
#include "loadtest/launched_server.h"
#include "loadtest/load_run.h"
#include "loadtest/report/run_facts.h"
#include "loadtest/run_metrics.h"
#include "loadtest/watch/served_model.h"

namespace CLI {
class App;
}

namespace millrace::bench {

// Which server is measured: a running one, or one that is started for the measurement.
struct SystemUnderTestFlags {
  std::string url;
  std::string host = "127.0.0.1";  // host of a running server, if no URL is given
  int port = 8000;
  std::string spawn;          // a model, for `millrace serve`; "" = none
  std::string spawn_command;  // any server's command line, with {port}
  std::string serve_args;     // more arguments of `millrace serve`
  std::string program;        // the millrace to start; "" = this one
  bool steps = false;         // a started millrace writes its step trace, and each run's report contains it
  std::string server_trace;   // with `steps`: the trace file that the server writes on this machine
  std::string api_key;
  std::vector<std::string> headers;  // "Name: value"
  bool insecure = false, no_probe = false;
  double ready_seconds = 600.0;

  void declare(CLI::App& app);
  void declare_shared(CLI::App& app);  // all flags except those that choose the server
  void declare_steps(CLI::App& app);
};

// The path of this program.
std::string own_path();

// The results of one run.
struct MeasuredRun {
  loadtest::LoadRun run;
  loadtest::RunMetrics metrics;
  loadtest::report::LoadFacts load;
  loadtest::report::ServerFacts server;
  loadtest::report::ServerSamples samples;
  loadtest::report::StepSamples steps;
  loadtest::report::RequestPhases phases;
  loadtest::Interference noise;
};

// The server under test. One run at a time.
class SystemUnderTest {
 public:
  // Starts the server if the flags say so, and asks it for its model. Throws LoadError.
  SystemUnderTest(const SystemUnderTestFlags& flags, const std::string& wanted_model,
                  const std::function<bool()>& stop);

  // Runs the load. With `steps`, takes a second longer, plus the time to read the whole trace so far.
  MeasuredRun measure(const LoadFlags& load, const loadtest::LoadHooks& hooks);

  const loadtest::ServedModel& model() const noexcept { return model_; }
  const loadtest::Target& target() const noexcept { return target_; }
  // The command that started it; empty for a server that was already running.
  std::vector<std::string> command() const;
  bool local() const noexcept { return process_ > 0; }

 private:
  loadtest::Target start(const std::function<bool()>& stop);
  loadtest::report::LoadFacts facts_of(const LoadFlags& load, const loadtest::Workload& workload,
                                       const loadtest::LoadPlan& plan) const;
  void read_steps(MeasuredRun& measured) const;
  double read_bandwidth()
      const;  // GB/s of this machine now; 0 where the server is elsewhere or nothing shall be probed

  SystemUnderTestFlags flags_;
  std::string trace_;
  std::optional<ScratchFolder> scratch_;  // a started server writes into it, so it is destroyed after the server
  std::optional<loadtest::LaunchedServer> spawned_;
  loadtest::Target target_;
  pid_t process_ = 0;
  loadtest::ServedModel model_;
};

}  // namespace millrace::bench
