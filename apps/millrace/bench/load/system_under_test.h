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

// Flags of the server to measure: one that runs already, or one that is started for the measurement.
struct SystemUnderTestFlags {
  std::string url;
  std::string host = "127.0.0.1";  // used with `port` if `url` is empty
  int port = 8000;
  std::string spawn;          // model reference: `millrace serve` is started with it; empty: not
  std::string spawn_command;  // command line of any other server, with {port} in it; empty: none is started
  std::string serve_args;     // further arguments of `millrace serve`
  std::string program;        // path of the millrace to start; empty: own_path()
  // The report says what the server did: a started millrace writes a trace of its steps, and any millrace is asked
  // where the time of each answer went.
  bool steps = false;
  std::string server_trace;  // path of the trace that the server writes on this machine; empty: none, or by `steps`
  std::string api_key;
  std::vector<std::string> headers;  // "Name: value"
  bool insecure = false, no_probe = false;
  double ready_seconds = 600.0;  // limit of the start of a server

  void declare(CLI::App& app);
  void declare_shared(CLI::App& app);  // without url, --host, --port and --spawn-command
  void declare_steps(CLI::App& app);
};

// The path of this program; "millrace" if /proc does not say.
std::string own_path();

// The results of one run of a load.
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

// The system under test. A server that it starts ends with it. One thread; one run at a time.
class SystemUnderTest {
 public:
  // Starts a server if the flags ask for one, and reads which model it serves: `wanted_model`, or its first if that is
  // empty. Blocks until the server is ready; `stop` is asked meanwhile and true ends the wait. Throws LoadError.
  SystemUnderTest(const SystemUnderTestFlags& flags, const std::string& wanted_model,
                  const std::function<bool()>& stop);

  // Runs the load and blocks until it ends or `hooks.stop` returns true. Measures the read bandwidth before and after
  // if the server is on this machine. Where there is a trace, waits 1.2 s for its end and reads all of it (at most 1
  // GiB). Throws LoadError.
  MeasuredRun measure(const LoadFlags& load, const loadtest::LoadHooks& hooks);

  const loadtest::ServedModel& model() const noexcept { return model_; }
  const loadtest::Target& target() const noexcept { return target_; }
  // The command line of the started server; empty if the server ran already.
  std::vector<std::string> command() const;
  bool local() const noexcept { return process_ > 0; }  // the server is a process of this machine

 private:
  loadtest::Target start(const std::function<bool()>& stop);
  loadtest::report::LoadFacts facts_of(const LoadFlags& load, const loadtest::Workload& workload,
                                       const loadtest::LoadPlan& plan) const;
  // Asks a millrace to say with each answer where its time went, if the report has a place for that.
  loadtest::RequestStyle style_of(const LoadFlags& load) const;
  void read_steps(MeasuredRun& measured) const;
  // Measures this machine's read bandwidth in GB/s; 0 if the server is elsewhere or with --no-probe.
  double read_bandwidth() const;

  SystemUnderTestFlags flags_;
  std::string trace_;
  std::optional<ScratchFolder> scratch_;  // log and trace of a started server; must outlive spawned_
  std::optional<loadtest::LaunchedServer> spawned_;
  loadtest::Target target_;
  pid_t process_ = 0;
  loadtest::ServedModel model_;
};

}  // namespace millrace::bench
