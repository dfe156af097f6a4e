#include "bench/load/load_flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli.h"
#include "option_heading.h"

namespace millrace::bench {
namespace {

constexpr double kMaxSeconds = 7 * 24 * 3600.0;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 30;

std::string names_of_workloads() {
  std::string text;
  for (const auto& kind : loadtest::all_workloads()) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", kind.name, kind.summary);
  }
  return text;
}

// The length range that --random-range-ratio spreads around a single length, as vLLM has it.
metrics::TokenRange spread(metrics::TokenRange range, double ratio) {
  if (range.min != range.max) return range;
  const double length = static_cast<double>(range.min);
  range.min = std::max<std::int64_t>(1, std::llround(length * (1.0 - ratio)));
  range.max = std::llround(length * (1.0 + ratio));
  return range;
}

// Members of a JSON object without its braces.
std::string members_of(const std::string& text) {
  if (text.empty()) return "";
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw_load_error(ErrorCode::kInvalidArgument, "extra-body", "extra-body: '{}' is no JSON object", text);
  }
  const std::string dumped = json.dump();
  return dumped.substr(1, dumped.size() - 2);
}

}  // namespace

void LoadFlags::declare(CLI::App& app) {
  declare_workload(app);
  declare_arrivals(app);
  declare_requests(app);
}

void LoadFlags::declare_workload(CLI::App& app) {
  const app::OptionHeading heading(app, "Workload");
  app.add_option("--backend", backend,
                 "API to send requests to. openai, vllm: /v1/completions; openai-chat: /v1/chat/completions")
      ->transform(CLI::CheckedTransformer(std::map<std::string, std::string>{
          {"openai", "openai"}, {"vllm", "openai"}, {"openai-chat", "openai-chat"}}));
  app.add_option("--model", model, "Model name to request; default the first that the server lists");
  app.add_option("--dataset-name", dataset, "Workload to send. " + names_of_workloads())->capture_default_str();
  app.add_option("--dataset-path", dataset_path, "File of the data set or trace that --dataset-name reads")
      ->type_name("FILE");
  app.add_option("--input-len,--random-input-len", input,
                 "Tokens per prompt: N, MIN-MAX (uniform) or MIN-MAX:long (long tail)")
      ->capture_default_str();
  app.add_option("--output-len,--random-output-len", output,
                 "Tokens per completion: N, MIN-MAX (uniform) or MIN-MAX:long (long tail)")
      ->capture_default_str();
  app.add_option("--random-range-ratio", range_ratio,
                 "Range ratio r that spreads a single length N over N*(1-r) to N*(1+r); 0 = fixed lengths")
      ->check(CLI::Range(0.0, 0.99));
  app.add_option("--prefix-len,--random-prefix-len", prefix, "Tokens of the prefix that prompts share; 0 = none")
      ->check(CLI::Range(std::int64_t{0}, kMaxCount));
  app.add_option(
         "--num-prefixes", prefixes,
         "Number of different shared prefixes or documents; 0 = one per request with --dataset-name long-context")
      ->check(CLI::Range(std::int64_t{0}, kMaxCount));
  app.add_option("--turns", turns, "Turns per conversation of --dataset-name multi-turn")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--turn-pause", turn_pause, "Seconds between a completion and the next turn of its conversation")
      ->check(CLI::Range(0.0, kMaxSeconds));
  app.add_option("--trace-speed", trace_speed,
                 "Speed of replaying a trace as a multiple of real time; 2 = twice as fast as recorded")
      ->check(CLI::Range(1e-3, 1e6));
  app.add_option("--lora-modules", adapters, "Models or LoRA adapters that --dataset-name adapters requests");
  app.add_option(
         "--lora-zipf", adapter_zipf,
         "Zipf exponent s of --lora-modules: the k-th is requested k^s times less often than the first; 0 = all "
         "alike")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--lora-base-share", base_share,
                 "Share of the requests of --dataset-name adapters that go to --model, without an adapter")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--vocab-size", vocabulary, "Vocabulary size that random token ids stay below; 0 = ask the server")
      ->check(CLI::Range(std::int64_t{0}, kMaxCount));
}

void LoadFlags::declare_arrivals(CLI::App& app) {
  const app::OptionHeading heading(app, "Arrivals");
  app.add_option("--num-prompts", prompts,
                 "Number of requests, or of conversations where the workload has several turns")
      ->check(CLI::Range(std::int64_t{1}, kMaxCount))
      ->each([this](const std::string&) { prompts_given = true; })
      ->capture_default_str();
  app.add_option("--request-rate", request_rate,
                 "Requests sent per second (open loop), independent of responses; inf = all at once or as in the trace")
      ->capture_default_str();
  app.add_option("--burstiness", burstiness,
                 "Burstiness of arrivals: 1 = Poisson, below 1 burstier, above 1 steadier, inf = constant intervals");
  app.add_option("--ramp-up-strategy", ramp,
                 "How the request rate changes from --ramp-up-start-rps to --ramp-up-end-rps: linear or exponential")
      ->check(CLI::IsMember({"linear", "exponential"}));
  app.add_option("--ramp-up-start-rps", ramp_start, "Requests per second at the start of a ramp");
  app.add_option("--ramp-up-end-rps", ramp_end, "Requests per second at the end of a ramp");
  app.add_option("--max-concurrency", max_concurrency, "Max requests in flight, further ones are delayed; 0 = no limit")
      ->check(CLI::Range(std::int64_t{0}, kMaxCount));
  app.add_option("--users", users,
                 "Concurrent users (closed loop), each sending its next request after a response; 0 = open loop by "
                 "--request-rate")
      ->check(CLI::Range(std::int64_t{0}, kMaxCount));
  app.add_option("--think-time", think_time, "Seconds that each of --users waits between two requests")
      ->check(CLI::Range(0.0, kMaxSeconds));
  app.add_option("--duration", duration, "Seconds after which no new request is sent; 0 = no limit")
      ->check(CLI::Range(0.0, kMaxSeconds));
  app.add_option("--num-warmups", warmups, "Number of warm-up requests that are not counted")
      ->check(CLI::Range(std::int64_t{0}, kMaxCount));
  app.add_option("--request-timeout", request_timeout, "Max seconds of a request, after which it counts as failed")
      ->check(CLI::Range(0.001, kMaxSeconds));
  app.add_option("--disconnect-fraction", disconnect,
                 "Fraction of requests that the client cancels before the end, from 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", seed, "Random seed of prompts, lengths and arrival times");
}

void LoadFlags::declare_requests(CLI::App& app) {
  const app::OptionHeading heading(app, "Requests and metrics");
  app.add_option("--goodput", goodput,
                 "SLO that a request must meet for goodput, in milliseconds: ttft:1000 tpot:150 e2el:5000; several "
                 "SLOs are separated by /")
      ->expected(1, -1);
  app.add_option("--metric-percentiles", metric_percentiles,
                 "Percentiles to report besides 50, 90, 95 and 99, comma-separated, e.g. 25,99.9")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--percentile-metrics", percentile_metrics,
                 "Metrics to report percentiles of, comma-separated: ttft,tpot,itl,e2el")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"ttft", "tpot", "itl", "e2el"}));
  app.add_option("--temperature", temperature,
                 "Sampling temperature of the requests; 0 = greedy, below 0 = the server's default");
  app.add_flag("--ignore-eos,!--no-ignore-eos", ignore_eos,
               "Force completions to the exact requested length by ignoring end-of-sequence; default only for "
               "workloads with random prompts");
  app.add_option("--extra-body", extra_body, "JSON object whose fields are added to each request");
}

std::unique_ptr<loadtest::Workload> LoadFlags::workload(std::int64_t server_vocabulary) const {
  loadtest::WorkloadOptions options;
  options.seed = seed;
  options.input = spread(metrics::parse_token_range("input-len", input).or_throw(), range_ratio);
  options.output = spread(metrics::parse_token_range("output-len", output).or_throw(), range_ratio);
  options.prefix_tokens = prefix;
  options.prefixes = prefixes;
  options.turns = turns;
  options.pause_s = turn_pause;
  options.path = dataset_path;
  options.models = adapters;
  options.zipf = adapter_zipf;
  options.base_share = base_share;
  options.trace_speed = trace_speed;
  if (backend == "openai") options.vocabulary = vocabulary > 0 ? vocabulary : server_vocabulary;
  return loadtest::make_workload(dataset, options).or_throw();
}

loadtest::RequestStyle LoadFlags::style(const std::string& served_model) const {
  const loadtest::WorkloadKind* const kind = loadtest::find_workload(dataset);
  loadtest::RequestStyle style;
  style.endpoint =
      backend == "openai" ? loadtest::RequestStyle::Endpoint::kCompletions : loadtest::RequestStyle::Endpoint::kChat;
  style.model = served_model;
  style.ignore_eos = ignore_eos.value_or(kind != nullptr && !kind->meaningful);
  style.temperature = temperature;
  style.extra = members_of(extra_body);
  return style;
}

std::vector<metrics::Slo> LoadFlags::slos() const { return metrics::parse_slos("goodput", goodput).or_throw(); }

double LoadFlags::rate() const {
  double value = 0.0;
  const auto [end, error] = std::from_chars(request_rate.data(), request_rate.data() + request_rate.size(), value);
  if (error != std::errc() || end != request_rate.data() + request_rate.size() || !(value > 0.0) || value > 1e6) {
    throw_load_error(ErrorCode::kInvalidArgument, "request-rate",
                     "request-rate is '{}': expected inf or a number above 0, up to 1e6", request_rate);
  }
  return value;
}

std::string LoadFlags::arrivals(const loadtest::Workload& load) const {
  if (users > 0) return "closed";
  if (!ramp.empty()) return "ramp";
  if (unlimited_rate() && load.start_s(0)) return "trace";
  if (unlimited_rate()) return "all at once";
  if (std::isinf(burstiness)) return "constant";
  return burstiness == 1.0 ? "poisson" : "gamma";
}

loadtest::LoadPlan LoadFlags::plan(const loadtest::Workload& load) const {
  loadtest::LoadPlan plan;
  plan.sessions = static_cast<std::int64_t>(std::min(
      static_cast<std::uint64_t>(prompts), load.sessions().value_or(std::numeric_limits<std::int64_t>::max())));
  plan.users = users > 0 ? users : max_concurrency;
  plan.think_s = think_time;
  plan.seconds = duration;
  plan.warmup = warmups;
  plan.request_timeout_s = request_timeout;
  plan.disconnect_fraction = disconnect;
  plan.seed = seed;
  const std::string kind = arrivals(load);
  if (kind == "closed") return plan;
  if (kind == "trace" || kind == "all at once") {
    for (std::int64_t i = 0; i < plan.sessions; ++i) {
      plan.starts.push_back(load.start_s(static_cast<std::uint64_t>(i)).value_or(0.0));
    }
    return plan;
  }
  loadtest::Arrivals arrivals{.burstiness = burstiness, .seed = seed};
  if (kind == "ramp") {
    if (!(ramp_start > 0.0) || !(ramp_end > 0.0)) {
      throw_load_error(ErrorCode::kInvalidArgument, "ramp-up-start-rps",
                       "ramp-up-start-rps and ramp-up-end-rps are {} and {}: a ramp wants both above 0", ramp_start,
                       ramp_end);
    }
    arrivals.ramp = ramp == "linear" ? loadtest::Arrivals::Ramp::kLinear : loadtest::Arrivals::Ramp::kExponential;
    arrivals.start_rate = ramp_start;
    arrivals.end_rate = ramp_end;
  } else {
    arrivals.rate = rate();
  }
  if (!(burstiness > 0.0)) {
    throw_load_error(ErrorCode::kInvalidArgument, "burstiness", "burstiness is {}: expected a number above 0",
                     burstiness);
  }
  plan.starts = loadtest::schedule(arrivals, plan.sessions);
  return plan;
}

}  // namespace millrace::bench
