#include "service_plan.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bench/report.h"
#include "bench/table.h"
#include "cli.h"
#include "engine/local_executor.h"
#include "metrics/slo.h"
#include "metrics/statistics.h"
#include "model_speed.h"
#include "service_advice.h"
#include "simulator/service_run.h"
#include "text/blank_tokenizer.h"

namespace millrace::app {
namespace {

using bench::rounded;
using metrics::Distribution;
using simulator::Arrival;
using simulator::ServiceRun;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxTraceBytes = std::uint64_t{1} << 30;

struct Summary {
  Distribution ttft, tpot, latency;
  double output_tok_s = 0.0, requests_s = 0.0, goodput_s = 0.0, good_share = 0.0;
  std::int64_t cached_tokens = 0;
};

Summary summary_of(const ServiceRun& run, const metrics::Slo& objective) {
  Summary summary;
  std::vector<double> ttft, tpot, latency;
  std::int64_t good = 0, tokens = 0;
  for (const simulator::Served& served : run.requests) {
    ttft.push_back(served.ttft_ms);
    if (served.output_tokens > 1) tpot.push_back(served.tpot_ms);
    latency.push_back(served.latency_ms);
    tokens += served.output_tokens;
    summary.cached_tokens += served.cached_tokens;
    if (objective.met(served.ttft_ms, served.tpot_ms, served.latency_ms)) ++good;
  }
  summary.ttft = metrics::distribution_of(ttft);
  summary.tpot = metrics::distribution_of(tpot);
  summary.latency = metrics::distribution_of(latency);
  const auto all = static_cast<double>(run.requests.size()) + static_cast<double>(run.rejected);
  if (run.seconds > 0.0) {
    summary.output_tok_s = static_cast<double>(tokens) / run.seconds;
    summary.requests_s = static_cast<double>(run.requests.size()) / run.seconds;
    summary.goodput_s = static_cast<double>(good) / run.seconds;
  }
  if (all > 0.0) summary.good_share = static_cast<double>(good) / all;
  return summary;
}

Json json_of(const ServiceRun& run, const Summary& summary) {
  return {{"requests", run.requests.size()},
          {"rejected", run.rejected},
          {"refused", run.rejected},  // base/old_names.h
          {"seconds", run.seconds},
          {"steps", run.steps},
          {"ttft_ms", bench::json_of(summary.ttft)},
          {"tpot_ms", bench::json_of(summary.tpot)},
          {"latency_ms", bench::json_of(summary.latency)},
          {"output_tok_s", summary.output_tok_s},
          {"requests_s", summary.requests_s},
          {"goodput_requests_s", summary.goodput_s},
          {"goodput_share", summary.good_share},
          {"preemptions", run.preemptions},
          {"cached_tokens", summary.cached_tokens},
          {"kv_use_mean", run.kv_use_mean},
          {"kv_use_peak", run.kv_use_peak}};
}

std::vector<Arrival> arrivals_of(const ServicePlanFlags& flags) {
  std::vector<Arrival> arrivals =
      flags.trace.empty()
          ? simulator::parse_workload(flags.workload).or_throw()
          : simulator::parse_trace(read_file(Env::system(), flags.trace, kMaxTraceBytes).or_throw()).or_throw();
  if (flags.request_rate > 0.0) simulator::set_rate(arrivals, flags.request_rate, 0);
  return arrivals;
}

std::vector<std::string> table_row(const std::string& name, const ServiceRun& run, const Summary& s) {
  return {name,
          rounded(s.ttft.p50),
          rounded(s.ttft.p99),
          rounded(s.tpot.p50),
          rounded(s.tpot.p99),
          rounded(s.latency.p50),
          rounded(s.latency.p99),
          rounded(s.output_tok_s),
          rounded(s.requests_s),
          fmt::format("{:.0f}", 100.0 * s.good_share),
          std::to_string(run.preemptions),
          std::to_string(run.rejected),
          fmt::format("{:.0f}/{:.0f}", 100.0 * run.kv_use_mean, 100.0 * run.kv_use_peak)};
}

bench::Table empty_table() {
  return bench::Table({{"policy", true},
                       {"TTFT p50"},
                       {"p99"},
                       {"TPOT p50"},
                       {"p99"},
                       {"latency p50"},
                       {"p99"},
                       {"tok/s"},
                       {"req/s"},
                       {"good %"},
                       {"preempted"},
                       {"rejected"},
                       {"KV %"}});
}

PolicyOutcome outcome_of(const std::string& policy, const ServiceRun& run, const Summary& summary,
                         std::span<const Arrival> arrivals) {
  return {.policy = policy,
          .ttft_p99 = summary.ttft.p99,
          .latency_p99 = summary.latency.p99,
          .good_share = summary.good_share,
          .kv_peak = run.kv_use_peak,
          .rejected = run.rejected,
          .preemptions = run.preemptions,
          .load_seconds = arrivals.back().seconds,
          .served_seconds = run.seconds};
}

std::int64_t kv_tokens(const ServicePlanFlags& flags) {
  return flags.serving.kv_cache_tokens > 0 ? flags.serving.kv_cache_tokens : 32768;
}

// The same load on the real engine, in real time.
ServiceRun serve_really(const ServicePlanFlags& flags, const LoadedModel& loaded, const ModelFlags& model,
                        std::span<const Arrival> arrivals) {
  const auto vocabulary = loaded.transformer->spec().vocab_size;
  auto made = make_engine(loaded, text::blank_tokenizer(vocabulary), model, flags.serving, kv_tokens(flags));
  made.executor->memory().wait_populated();
  made.engine->warm_up().or_throw();
  return simulator::run_service(*made.engine, Env::system(), arrivals, vocabulary,
                                [](TimePoint until) { std::this_thread::sleep_until(until); });
}

double error_of(double predicted, double real) { return real > 0.0 ? (predicted - real) / real : 0.0; }

Json errors_of(const Summary& predicted, const Summary& real) {
  return {{"ttft_p50", error_of(predicted.ttft.p50, real.ttft.p50)},
          {"tpot_p50", error_of(predicted.tpot.p50, real.tpot.p50)},
          {"latency_p50", error_of(predicted.latency.p50, real.latency.p50)},
          {"output_tok_s", error_of(predicted.output_tok_s, real.output_tok_s)}};
}

}  // namespace

void ServicePlanFlags::declare(CLI::App& app) {
  auto* spec = app.add_option(
      "--workload", workload,
      "Synthetic workload to predict, e.g. requests=200,rate=4,input=64-512,output=16-256:long,prefix=128");
  app.add_option("--trace", trace,
                 "CSV or JSONL file of the workload to predict: arrival_s, prompt_tokens, output_tokens[, tenant, "
                 "prefix_group[, prefix_tokens]]")
      ->type_name("FILE")
      ->excludes(spec);
  app.add_option("--policy", policies,
                 "Scheduling policies to compare, comma-separated; default the one of --scheduling-policy")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--model-speed", model_speed,
                 "File with the output of `millrace doctor --model-speed MODEL`, which predictions are based on")
      ->type_name("FILE");
  app.add_option("--request-rate", request_rate,
                 "Requests per second, replacing the workload's own arrival times; 0 = keep them")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--goodput", goodput,
                 "SLO that requests must meet for goodput, in milliseconds, e.g. ttft:500,tpot:50,e2el:5000");
  app.add_option("--block-size", block_size, "Tokens per KV cache page of the simulated engine")
      ->check(CLI::Range(1, 1024));
  app.add_option("--against", against,
                 "Model to run the workload on as well, in real time, to compare with the prediction");
  serving.declare(app);
}

int plan_service(const ServicePlanFlags& flags, bool json) {
  const std::vector<metrics::Slo> objectives = metrics::parse_slos("goodput", flags.goodput).or_throw();
  if (objectives.size() > 1) {
    throw_load_error(ErrorCode::kInvalidArgument, "goodput", "goodput: {} objectives; one is compared",
                     objectives.size());
  }
  const metrics::Slo objective = objectives.empty() ? metrics::Slo{} : objectives.front();
  if (flags.serving.kv_cache_bytes > 0) {
    throw_load_error(ErrorCode::kInvalidArgument, "kv-cache-memory-bytes",
                     "a plan knows no bytes of a token: it needs --kv-cache-tokens");
  }
  const std::vector<Arrival> arrivals = arrivals_of(flags);
  std::optional<LoadedModel> loaded;
  ModelFlags model;
  model.model = flags.against;
  if (!flags.against.empty()) loaded = load_model(model);
  if (flags.model_speed.empty() && !loaded) {
    throw_load_error(ErrorCode::kInvalidArgument, "model-speed",
                     "--model-speed is needed: millrace doctor --model-speed MODEL > profile.json");
  }
  const sched::StepCost machine =
      flags.model_speed.empty() ? measure_model_speed(*loaded, model).cost : read_model_speed(flags.model_speed);
  std::vector<std::string> policies = flags.policies;
  if (policies.empty()) policies.push_back(flags.serving.scheduling_policy);
  bench::Table table = empty_table();
  std::vector<PolicyOutcome> outcomes;
  Json out = {{"requests", arrivals.size()}, {"policies", Json::object()}};
  for (const std::string& policy : policies) {
    ServicePlanFlags one = flags;
    one.serving.scheduling_policy = policy;
    simulator::PlannedEngine plan{
        .engine = one.serving.config(), .kv_cache_tokens = kv_tokens(flags), .block_tokens = flags.block_size};
    plan.engine.max_waiting = static_cast<std::int64_t>(arrivals.size());
    const ServiceRun run = simulator::predict_service(plan, machine, arrivals);
    const Summary summary = summary_of(run, objective);
    table.add(table_row(policy, run, summary));
    out["policies"][policy] = json_of(run, summary);
    outcomes.push_back(outcome_of(policy, run, summary, arrivals));
    if (!loaded) continue;
    const ServiceRun real = serve_really(one, *loaded, model, arrivals);
    const Summary measured = summary_of(real, objective);
    table.add(table_row("  really", real, measured));
    out["policies"][policy]["really"] = json_of(real, measured);
    out["policies"][policy]["error"] = errors_of(summary, measured);
  }
  out["recommendation"] = advice(outcomes, !objectives.empty());
  fmt::print("{}\n", json ? out.dump(2) : table.str());
  if (!json) fmt::print("{}\n", advice(outcomes, !objectives.empty()));
  return 0;
}

}  // namespace millrace::app
