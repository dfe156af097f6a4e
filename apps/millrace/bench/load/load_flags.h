#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loadtest/arrivals.h"
#include "loadtest/load_run.h"
#include "loadtest/request_body.h"
#include "loadtest/workload.h"
#include "metrics/slo.h"

// The flags of a load on a server, shared by `bench` serve, sweep, compare and peers. Names and meanings are those of
// `vllm bench serve` where it has the flag.

namespace CLI {
class App;
}

namespace millrace::bench {

struct LoadFlags {
  std::string backend = "openai";
  std::string model;  // the server's name for it; "" = its first model
  std::string dataset = "random", dataset_path;
  std::string input = "128", output = "64";
  double range_ratio = 0.0;
  std::int64_t prefix = 0, prefixes = 1, turns = 1;
  double turn_pause = 0.0, trace_speed = 1.0;
  std::vector<std::string> adapters;
  std::int64_t vocabulary = 0;  // 0 = the server's

  std::int64_t prompts = 100;
  std::string request_rate = "inf";
  double burstiness = 1.0;
  std::string ramp;
  double ramp_start = 0.0, ramp_end = 0.0;
  std::int64_t max_concurrency = 0, users = 0, warmups = 0;
  double think_time = 0.0, duration = 0.0, request_timeout = 6 * 3600.0, disconnect = 0.0;
  std::uint64_t seed = 0;

  std::vector<std::string> goodput;
  std::vector<std::string> percentile_metrics{"ttft", "tpot", "itl", "e2el"};
  std::vector<double> metric_percentiles;
  double temperature = 0.0;
  std::optional<bool> ignore_eos;  // nothing = only for synthetic prompts
  std::string extra_body;

  void declare(CLI::App& app);

  // The functions below throw LoadError naming the flag.
  std::unique_ptr<loadtest::Workload> workload(std::int64_t server_vocabulary) const;
  loadtest::RequestStyle style(const std::string& served_model) const;
  std::vector<metrics::Slo> slos() const;
  // When the sessions of `load` are sent. The times of a trace apply if no rate is given.
  loadtest::LoadPlan plan(const loadtest::Workload& load) const;
  // "poisson", "gamma", "constant", "ramp", "trace" or "closed".
  std::string arrivals(const loadtest::Workload& load) const;
  bool unlimited_rate() const { return request_rate == "inf"; }
  double rate() const;  // of --request-rate; throws unless it is a number > 0

 private:
  // In the order of the help.
  void declare_workload(CLI::App& app);
  void declare_arrivals(CLI::App& app);
  void declare_requests(CLI::App& app);  // and of what the report contains
};

}  // namespace millrace::bench
