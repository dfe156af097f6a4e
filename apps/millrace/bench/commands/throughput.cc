#include <algorithm>
#include <cstdio>

#include "adapter_flags.h"
#include "bench/model_run.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"
#include "engine/load/throughput_run.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

using engine::load::ThroughputLoad;
using engine::load::ThroughputRun;
using metrics::Distribution;

struct ThroughputFlags {
  app::ModelFlags model;
  std::int64_t requests = 64, concurrency = 32, shared_prefix = 0;
  app::EngineFlags serving;
  std::string input = "128", output = "64";
  std::uint64_t seed = 0;
  std::optional<int> logprobs, prompt_logprobs;
  int warmup = 1;
  double probe_seconds = 0.05;
  ReportFlags report;
};

// Times of the requests, in ms; TPOT of those with two tokens and more.
struct Times {
  Distribution ttft, tpot, latency;
};

Times times_of(const ThroughputRun& run) {
  std::vector<double> ttft, tpot, total;
  for (const engine::RequestStats& stats : run.requests) {
    ttft.push_back(stats.ttft_ms());
    if (stats.output_tokens > 1) tpot.push_back(stats.tpot_ms());
    total.push_back(milliseconds_between(stats.arrival, stats.last_token));
  }
  return {metrics::distribution_of(ttft), metrics::distribution_of(tpot), metrics::distribution_of(total)};
}

// Operations of all requests.
double operations_of(const model::ModelWork& work, const ThroughputRun& run) {
  double operations = 0.0;
  for (const engine::RequestStats& stats : run.requests) {
    operations += work.operations(0, stats.prompt_tokens + stats.output_tokens - 1) +
                  static_cast<double>(stats.output_tokens - 1) * work.head_operations();
  }
  return operations;
}

ThroughputLoad load_of(const ThroughputFlags& flags) {
  return {.requests = flags.requests,
          .concurrency = flags.concurrency,
          .input = metrics::parse_token_range("input-tokens", flags.input).or_throw(),
          .output = metrics::parse_token_range("output-tokens", flags.output).or_throw(),
          .shared_prefix = flags.shared_prefix,
          .seed = flags.seed,
          .logprobs = flags.logprobs,
          .prompt_logprobs = flags.prompt_logprobs};
}

void print_text(const ModelRun& model, const ThroughputLoad& load, const ThroughputRun& run, const Times& times,
                double mfu) {
  const double seconds = run.seconds;
  fmt::print("{}\n{} requests, {} at once: {} input and {} output tokens in {:.2f} s\n\n",
             app::printable(model.description()), load.requests, load.concurrency, run.input_tokens, run.output_tokens,
             seconds);
  Table rates(
      {{"total tok/s"}, {"output tok/s"}, {"requests/s"}, {"MFU %"}, {"steps"}, {"tokens a step"}, {"sampled a step"}});
  rates.add({rounded(static_cast<double>(run.input_tokens + run.output_tokens) / seconds),
             rounded(static_cast<double>(run.output_tokens) / seconds),
             rounded(static_cast<double>(load.requests) / seconds), bench::percent_text(mfu), std::to_string(run.steps),
             rounded(run.mean_step_tokens()), rounded(run.mean_step_outputs())});
  Table latencies({{"ms", true}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"max"}});
  for (const auto& [name, d] :
       {std::pair<const char*, Distribution>{"TTFT", times.ttft}, {"TPOT", times.tpot}, {"latency", times.latency}}) {
    latencies.add({name, rounded(d.mean), rounded(d.p50), rounded(d.p90), rounded(d.p99), rounded(d.max)});
  }
  fmt::print("{}\n{}\n", rates.str(), latencies.str());
}

Json options_of(const ThroughputFlags& flags, const ThroughputLoad& load, std::int64_t kv_tokens) {
  return {{"requests", load.requests},
          {"concurrency", load.concurrency},
          {"input_tokens", {load.input.min, load.input.max}},
          {"output_tokens", {load.output.min, load.output.max}},
          {"shared_prefix_tokens", load.shared_prefix},
          {"logprobs", load.logprobs.value_or(-1)},
          {"prompt_logprobs", load.prompt_logprobs.value_or(-1)},
          {"max_batched_tokens", flags.serving.max_num_batched_tokens},
          {"scheduling_policy", flags.serving.scheduling_policy},
          {"batching", flags.serving.batching},
          {"prefix_caching", flags.serving.prefix_caching},
          {"kv_cache_tokens", kv_tokens},
          {"warmup", flags.warmup},
          {"seed", load.seed}};
}

int throughput(ThroughputFlags flags) {
  const ThroughputLoad load = load_of(flags);
  flags.report.check_writable();
  merge_adapters(flags.serving.adapters, flags.model);
  ModelRun model(flags.model, flags.probe_seconds);
  const auto made = model.make_engine(flags.serving, kv_tokens(load, model.block_tokens()));
  const auto& engine = made.engine;
  const engine::EngineCounters before = engine->counters();
  for (int i = 0; i < flags.warmup; ++i) {
    ThroughputLoad warmup = load;
    warmup.requests = std::min(load.requests, load.concurrency);
    warmup.output = {2, 2};
    warmup.seed = load.seed + 1 + static_cast<std::uint64_t>(i);  // prompts that the load will not find in the cache
    run_throughput(*engine, Env::system(), model.vocabulary(), warmup);
  }
  ThroughputRun run;
  const auto limits =
      model.probe().around([&] { run = run_throughput(*engine, Env::system(), model.vocabulary(), load); });
  const Times times = times_of(run);
  const double peak = backend::peak_gop_s(limits, model.arithmetic());
  const double mfu = peak > 0.0 ? 100.0 * operations_of(model.work(), run) / run.seconds * 1e-9 / peak : 0.0;
  if (flags.report.table()) {
    print_text(model, load, run, times, mfu);
    fmt::print("{}\n", describe(model.probe().measured()));
  }
  Json report = model.new_report("throughput");
  report["options"] = options_of(flags, load, engine->limits().kv_capacity_tokens);
  report["results"] = {{"seconds", run.seconds},
                       {"requests", run.requests.size()},
                       {"input_tokens", run.input_tokens},
                       {"output_tokens", run.output_tokens},
                       {"total_tok_s", static_cast<double>(run.input_tokens + run.output_tokens) / run.seconds},
                       {"output_tok_s", static_cast<double>(run.output_tokens) / run.seconds},
                       {"requests_s", static_cast<double>(load.requests) / run.seconds},
                       {"mfu_percent", mfu <= 100.0 ? Json(mfu) : Json()},
                       {"cached_tokens", engine->counters().cached_tokens - before.cached_tokens},
                       {"preemptions", engine->counters().preemptions - before.preemptions},
                       {"swaps", engine->counters().swaps - before.swaps},
                       {"kv_live_percent", 100.0 * run.live_share},
                       {"kv_held_percent", 100.0 * run.held_share},
                       {"steps", run.steps},
                       {"mean_step_tokens", run.mean_step_tokens()},
                       {"mean_step_outputs", run.mean_step_outputs()},
                       {"ttft_ms", json_of(times.ttft)},
                       {"tpot_ms", json_of(times.tpot)},
                       {"latency_ms", json_of(times.latency)},
                       {"memory", model.memory(*engine)}};
  write_report(flags.report, report);
  return 0;
}

}  // namespace

app::Command throughput() {
  return {
      .name = "throughput",
      .summary = "Measure the throughput of many requests sent as fast as possible",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<ThroughputFlags>();
        app.add_option("model", flags->model.model,
                       "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
        app.add_option("--requests", flags->requests, "Total number of requests")->check(CLI::Range(1, 1 << 20));
        app.add_option("--concurrency", flags->concurrency, "Number of requests in flight at any time")
            ->check(CLI::Range(1, 4096));
        app.add_option("--input-tokens", flags->input,
                       "Tokens per prompt: N, MIN-MAX (uniform) or MIN-MAX:long (long tail)");
        app.add_option("--output-tokens", flags->output,
                       "Tokens per completion: N, MIN-MAX (uniform) or MIN-MAX:long (long tail)");
        app.add_option("--seed", flags->seed, "Random seed of prompts and lengths");
        app.add_option("--shared-prefix-tokens", flags->shared_prefix,
                       "Tokens of the prefix that all prompts share; 0 = none")
            ->check(CLI::Range(std::int64_t{0}, metrics::kMaxTokens));
        app.add_option("--logprobs", flags->logprobs,
                       "Compute logprobs of sampled tokens and list this many of the most likely tokens; default off")
            ->check(CLI::Range(0, decode::kMaxLogprobs));
        app.add_option("--prompt-logprobs", flags->prompt_logprobs,
                       "Compute logprobs of prompt tokens and list this many of the most likely tokens; default off")
            ->check(CLI::Range(0, decode::kMaxLogprobs));
        flags->serving.prefix_caching = false;
        flags->serving.max_num_seqs = 0;
        flags->serving.declare(app);
        app.get_option("--max-num-seqs")->default_str("the number of --concurrency");
        app.add_option("--warmup", flags->warmup, "Number of short warm-up runs that are not counted")
            ->check(CLI::Range(0, 1000));
        app.add_option("--probe-time", flags->probe_seconds, "Seconds for each measurement of each machine limit")
            ->check(CLI::Range(1e-4, 10.0));
        flags->model.declare(app);
        flags->report.declare(app);
        return [flags] {
          if (flags->serving.max_num_seqs == 0) flags->serving.max_num_seqs = flags->concurrency;
          return throughput(*flags);
        };
      },
      .example = "millrace bench throughput default --requests 16"};
}

}  // namespace millrace::bench::commands
