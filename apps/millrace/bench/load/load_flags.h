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

// Flags of a load on a server, shared by `bench` serve, sweep, compare and peers. Flags that `vllm bench serve` has too
// have its names and meanings.

namespace CLI {
class App;
}

namespace millrace::bench {

// Texts and units of the fields are those of `millrace bench serve --help`.
struct LoadFlags {
  std::string backend = "openai";
  std::string model;  // name on the server; empty: the first that it lists
  std::string dataset = "random", dataset_path;
  std::string input = "128", output = "64";
  double range_ratio = 0.0;  // [0, 0.99]; spreads a single length N over N * (1 - r) to N * (1 + r)
  std::int64_t prefix = 0, prefixes = 1, turns = 1;
  double turn_pause = 0.0, trace_speed = 1.0;  // seconds; multiple of real time
  std::vector<std::string> adapters;
  double adapter_zipf = 1.0, base_share = 0.0;
  std::int64_t vocabulary = 0;  // upper bound of random token ids; 0 = that of the server

  std::int64_t prompts = 100;        // sessions: requests, or conversations of several turns
  bool prompts_given = false;        // by the user: a sweep then takes no number of its own
  std::string request_rate = "inf";  // requests per second, or "inf"
  double burstiness = 1.0;
  std::string ramp;
  double ramp_start = 0.0, ramp_end = 0.0;
  std::int64_t max_concurrency = 0, users = 0, warmups = 0;
  double think_time = 0.0, duration = 0.0, request_timeout = 6 * 3600.0, disconnect = 0.0;
  std::uint64_t seed = 0;  // of prompts, lengths and arrival times

  std::vector<std::string> goodput;
  std::vector<std::string> percentile_metrics{"ttft", "tpot", "itl", "e2el"};
  std::vector<double> metric_percentiles;
  double temperature = 0.0;        // below 0 = the server's default
  std::optional<bool> ignore_eos;  // nothing: true for workloads of random prompts, else false
  std::string extra_body;

  void declare(CLI::App& app);

  // The functions below throw LoadError (kInvalidArgument) naming the flag.

  // `server_vocabulary` is the size of the server's vocabulary; 0 = unknown.
  std::unique_ptr<loadtest::Workload> workload(std::int64_t server_vocabulary) const;
  loadtest::RequestStyle style(const std::string& served_model) const;
  std::vector<metrics::Slo> slos() const;
  // When and how the sessions of `load` are sent. A trace's own arrival times count unless a rate is given.
  loadtest::LoadPlan plan(const loadtest::Workload& load) const;
  // The arrival process of the report: "closed", "ramp", "trace", "all at once", "constant", "poisson" or "gamma".
  std::string arrivals(const loadtest::Workload& load) const;
  bool unlimited_rate() const { return request_rate == "inf"; }
  double rate() const;  // of --request-rate, which must be a number in (0, 1e6]

 private:
  // Called in the order in which --help lists the flags.
  void declare_workload(CLI::App& app);
  void declare_arrivals(CLI::App& app);
  void declare_requests(CLI::App& app);  // fields of requests, SLOs and reported metrics
};

}  // namespace millrace::bench
