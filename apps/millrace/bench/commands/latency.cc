#include <cstdio>

#include "adapter_flags.h"
#include "base/readable_bytes.h"
#include "bench/model_run.h"
#include "bench/number_list.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"
#include "engine/adapter_uses.h"
#include "engine/load/latency_run.h"
#include "metrics/token_range.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

using engine::load::LatencyLoad;
using engine::load::LatencySample;

struct LatencyFlags {
  app::ModelFlags model;
  runtime::AdapterConfig adapters;
  std::int64_t prompt_tokens = 512, output_tokens = 128, max_batched_tokens = 512;
  std::string batches = "1";
  int runs = 3, warmup = 1;
  std::uint64_t seed = 0;
  double probe_seconds = 0.05;
  ReportFlags report;
};

constexpr std::int64_t kMaxBatch = 4096;

// A run and the machine's limits around it.
struct Run {
  LatencySample sample;
  backend::cpu::MachineLimits limits;
};

// What the metrics of a batch are made of: the same for each of its runs.
struct Work {
  double prefill_operations = 0.0, decode_operations = 0.0;  // of all sequences; decoding: of an average step
  double decode_bytes = 0.0;                                 // weights, keys and values of an average step
};

Work work_of(const ModelRun& model, const LatencyLoad& load, double kv_bytes_per_token) {
  const model::ModelWork& work = model.work();
  const std::int64_t end = load.prompt_tokens + load.output_tokens - 1;  // the last token is drawn and not computed
  const auto batch = static_cast<double>(load.batch), steps = static_cast<double>(load.output_tokens - 1);
  Work w;
  w.prefill_operations = batch * work.operations(0, load.prompt_tokens);
  // operations() counts one row of logits; every decoded token has one.
  w.decode_operations =
      batch * (work.operations(load.prompt_tokens, end) / steps + work.head_operations() * (steps - 1.0) / steps);
  w.decode_bytes =
      model.weight_bytes(batch) + batch * work.kv_bytes(load.prompt_tokens, end, kv_bytes_per_token) / steps;
  return w;
}

// The metrics of a batch over its runs.
struct LatencyMetrics {
  metrics::Spread ttft_ms, prefill_ms, tpot_ms, latency_ms, prefill_tok_s, decode_tok_s;
  metrics::Spread outside_ms, mbu_percent, prefill_mfu_percent, decode_mfu_percent;
};

LatencyMetrics metrics_of(const ModelRun& model, const LatencyLoad& load, const Work& work,
                          const std::vector<Run>& runs) {
  const auto spread = [&](auto&& value) {
    std::vector<double> values;
    for (const Run& run : runs) values.push_back(value(run));
    return metrics::spread_of(values);
  };
  const auto batch = static_cast<double>(load.batch), prompt = static_cast<double>(load.prompt_tokens);
  const auto share = [](double amount, double milliseconds, double giga_per_second) {
    return giga_per_second > 0.0 ? 100.0 * amount / (milliseconds * 1e6) / giga_per_second : 0.0;
  };
  const auto peak = [&](const Run& run) { return backend::peak_gop_s(run.limits, model.arithmetic()); };
  return {
      .ttft_ms = spread([](const Run& r) { return r.sample.ttft_ms; }),
      .prefill_ms = spread([](const Run& r) { return r.sample.prefill_ms; }),
      .tpot_ms = spread([](const Run& r) { return r.sample.tpot_ms; }),
      .latency_ms = spread([](const Run& r) { return r.sample.latency_ms; }),
      .prefill_tok_s = spread([&](const Run& r) { return 1000.0 * batch * prompt / r.sample.prefill_ms; }),
      .decode_tok_s = spread([&](const Run& r) { return 1000.0 * batch / r.sample.tpot_ms; }),
      .outside_ms = spread([](const Run& r) { return r.sample.outside_ms; }),
      .mbu_percent =
          spread([&](const Run& r) { return share(work.decode_bytes, r.sample.tpot_ms, r.limits.read_gb_s); }),
      .prefill_mfu_percent =
          spread([&](const Run& r) { return share(work.prefill_operations, r.sample.prefill_ms, peak(r)); }),
      .decode_mfu_percent =
          spread([&](const Run& r) { return share(work.decode_operations, r.sample.tpot_ms, peak(r)); }),
  };
}

Json json_of_batch(const LatencyLoad& load, const LatencyMetrics& f, const Work& work, const std::vector<Run>& runs,
                   Json memory) {
  Json out = {{"batch", load.batch},
              {"prompt_tokens", load.prompt_tokens},
              {"output_tokens", load.output_tokens},
              {"ttft_ms", json_of(f.ttft_ms)},
              {"prefill_ms", json_of(f.prefill_ms)},
              {"tpot_ms", json_of(f.tpot_ms)},
              {"latency_ms", json_of(f.latency_ms)},
              {"prefill_tok_s", json_of(f.prefill_tok_s)},
              {"decode_tok_s", json_of(f.decode_tok_s)},
              {"outside_ms", json_of(f.outside_ms)},
              {"mbu_percent", json_of(f.mbu_percent)},
              {"prefill_mfu_percent", json_of(f.prefill_mfu_percent)},
              {"decode_mfu_percent", json_of(f.decode_mfu_percent)},
              {"decode_bytes_per_step", work.decode_bytes},
              {"prefill_operations", work.prefill_operations},
              {"decode_operations_per_step", work.decode_operations},
              {"memory", std::move(memory)},
              {"runs", Json::array()}};
  for (const Run& run : runs) {
    out["runs"].push_back({{"ttft_ms", run.sample.ttft_ms},
                           {"prefill_ms", run.sample.prefill_ms},
                           {"tpot_ms", run.sample.tpot_ms},
                           {"latency_ms", run.sample.latency_ms},
                           {"outside_ms", run.sample.outside_ms},
                           {"decode_steps", run.sample.decode_steps},
                           {"limits", json_of(run.limits)}});
  }
  return out;
}

// "4.43 (4.40-4.61)"
std::string with_spread(const metrics::Spread& s) {
  return fmt::format("{} ({}-{})", rounded(s.median), rounded(s.min), rounded(s.max));
}

std::vector<std::string> table_row(const LatencyLoad& load, const LatencyMetrics& f) {
  const auto percent = [](const metrics::Spread& s) { return bench::percent_text(s.median); };
  return {std::to_string(load.batch),     with_spread(f.ttft_ms),        rounded(f.prefill_tok_s.median),
          percent(f.prefill_mfu_percent), with_spread(f.tpot_ms),        rounded(f.decode_tok_s.median),
          percent(f.mbu_percent),         percent(f.decode_mfu_percent), rounded(1000.0 * f.outside_ms.median),
          with_spread(f.latency_ms)};
}

app::EngineFlags engine_flags(const LatencyFlags& flags, std::int64_t batch) {
  app::EngineFlags serving;
  serving.max_num_batched_tokens = std::max(flags.max_batched_tokens, batch);
  serving.max_num_seqs = batch;
  serving.prefix_caching = false;  // each run measures its prompts anew
  serving.adapters = flags.adapters;
  return serving;
}

int latency(LatencyFlags flags) {
  const std::vector<std::int64_t> batches = parse_numbers("batch", flags.batches, 1, kMaxBatch);
  flags.report.check_writable();
  merge_adapters(flags.adapters, flags.model);
  ModelRun model(flags.model, flags.probe_seconds);
  Table table({{"batch"},
               {"TTFT ms"},
               {"prefill tok/s"},
               {"MFU %"},
               {"TPOT ms"},
               {"decode tok/s"},
               {"MBU %"},
               {"MFU %"},
               {"outside us"},
               {"latency ms"}});
  Json results = Json::array();
  std::string memory_line;
  for (const std::int64_t batch : batches) {
    LatencyLoad load{
        .batch = batch, .prompt_tokens = flags.prompt_tokens, .output_tokens = flags.output_tokens, .seed = flags.seed};
    const auto made = model.make_engine(engine_flags(flags, batch), kv_tokens(load, model.block_tokens()));
    const auto& engine = made.engine;
    load.adapters = engine::uses_of(*made.adapters->set());
    for (int i = 0; i < flags.warmup; ++i) run_latency(*engine, model.timed(), model.vocabulary(), load);
    std::vector<Run> runs;
    for (int i = 0; i < flags.runs; ++i) {
      ++load.seed;
      Run run;
      run.limits =
          model.probe().around([&] { run.sample = run_latency(*engine, model.timed(), model.vocabulary(), load); });
      runs.push_back(run);
    }
    const Work work = work_of(model, load, static_cast<double>(engine->limits().kv_bytes_per_token));
    const LatencyMetrics metrics = metrics_of(model, load, work, runs);
    const Json memory = model.memory(*engine);
    memory_line =
        fmt::format("resident {}: packed weights {}, pages {}", readable_bytes(memory["resident_bytes"].get<double>()),
                    readable_bytes(memory["packed_weight_bytes"].get<double>()),
                    readable_bytes(memory["kv_pool_bytes"].get<double>()));
    results.push_back(json_of_batch(load, metrics, work, runs, memory));
    table.add(table_row(load, metrics));
  }
  if (flags.report.table()) {
    fmt::print("{}\n{} prompt and {} output tokens a sequence; medians (min-max) of {} runs\n\n{}\n{}\n{}\n",
               app::printable(model.description()), flags.prompt_tokens, flags.output_tokens, flags.runs, table.str(),
               describe(model.probe().measured()), memory_line);
  }
  Json report = model.new_report("latency");
  report["options"] = {{"prompt_tokens", flags.prompt_tokens},
                       {"output_tokens", flags.output_tokens},
                       {"runs", flags.runs},
                       {"warmup", flags.warmup},
                       {"max_batched_tokens", flags.max_batched_tokens},
                       {"seed", flags.seed}};
  report["results"] = std::move(results);
  write_report(flags.report, report);
  return 0;
}

}  // namespace

app::Command latency() {
  return {
      .name = "latency",
      .summary = "Measure time to first token and time per output token by batch size",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<LatencyFlags>();
        app.add_option("model", flags->model.model,
                       "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
        app.add_option("--prompt-tokens", flags->prompt_tokens, "Tokens per prompt")
            ->check(CLI::Range(std::int64_t{1}, metrics::kMaxTokens));
        app.add_option("--output-tokens", flags->output_tokens, "Tokens per completion")
            ->check(CLI::Range(std::int64_t{2}, metrics::kMaxTokens));
        app.add_option("--batch", flags->batches, "Batch sizes (concurrent sequences) to measure, comma-separated");
        app.add_option("--runs", flags->runs, "Number of measured runs per batch size")->check(CLI::Range(1, 10000));
        app.add_option("--warmup", flags->warmup, "Number of warm-up runs that are not counted")
            ->check(CLI::Range(0, 10000));
        app.add_option("--max-batched-tokens", flags->max_batched_tokens,
                       "Max tokens computed in one step, which is the size of prefill chunks")
            ->check(CLI::Range(1, 1 << 20));
        app.add_option("--seed", flags->seed, "Random seed of the prompts");
        app.add_option("--probe-time", flags->probe_seconds, "Seconds for each measurement of each machine limit")
            ->check(CLI::Range(1e-4, 10.0));
        app::declare_adapters(app, flags->adapters);
        flags->model.declare(app);
        flags->report.declare(app);
        return [flags] { return latency(*flags); };
      },
      .example = "millrace bench latency default --batch 1,4"};
}

}  // namespace millrace::bench::commands
