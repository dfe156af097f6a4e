#include <cstdio>
#include <random>

#include "base/memory_env.h"
#include "base/readable_bytes.h"
#include "bench/model_run.h"
#include "bench/number_list.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"
#include "engine/load/latency_run.h"
#include "metrics/token_range.h"
#include "model/adapters/linear_modules.h"
#include "model/adapters/load_adapter.h"
#include "model/adapters/peft_adapter.h"
#include "printable.h"

namespace millrace::lora::commands {
namespace {

using bench::Json;
using engine::load::LatencyLoad;
using engine::load::LatencySample;

struct BenchFlags {
  app::ModelFlags model;
  runtime::AdapterConfig adapters;
  std::string ranks = "8,16,32,64";
  std::vector<std::string> kinds;
  std::int64_t batch = 1, prompt_tokens = 512, output_tokens = 32;
  int runs = 5;
  std::uint64_t seed = 0;
  double probe_seconds = 0.05;
  bench::ReportFlags report;
};

constexpr std::int64_t kMaxBatch = 4096;

// A rank, its adapter, and its runs; rank 0 is the base.
struct Measured {
  std::int64_t rank = 0;
  std::shared_ptr<const model::Adapter> adapter;
  std::vector<LatencySample> runs;
};

// An adapter of random values for the linear layers of these kinds, or of all layers.
std::shared_ptr<const model::Adapter> random_adapter(const bench::ModelRun& model, const BenchFlags& flags,
                                                     std::int64_t rank) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  const auto values = [&](std::int64_t n) {
    std::vector<float> all(static_cast<std::size_t>(n));
    for (float& value : all) value = (static_cast<float>(random() >> 40) / 8388608.0f - 1.0f) * 0.01f;
    return all;
  };
  std::vector<model::PeftModule> modules;
  for (const model::LinearModule& one : model::linear_modules(model.checkpoint(), model.transformer().spec())) {
    const bool wanted = flags.kinds.empty() ? one.parts.front().base.role != "output"
                                            : std::ranges::find(flags.kinds, one.kind()) != flags.kinds.end();
    if (!wanted) continue;
    modules.push_back({.name = one.name,
                       .rows = one.rows,
                       .cols = one.cols,
                       .rank = rank,
                       .a = values(rank * one.cols),
                       .b = values(one.rows * rank)});
  }
  if (modules.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "modules", "modules has none of the linear layers of '{}'",
                     model.checkpoint().path);
  }
  const model::PeftFiles files = model::peft_files({.rank = rank}, modules);
  MemoryEnv env;
  const std::string name = fmt::format("rank {}", rank);
  env.files = {{name + "/adapter_config.json", files.config}, {name + "/adapter_model.safetensors", files.weights}};
  model::AdapterOptions options = flags.adapters.options();
  options.max_rank = runtime::kMaxLoraRank;
  return model::AdapterLoader(model.checkpoint(), model.transformer(), *model.loaded().backend)
      .load(env, name, options);
}

app::EngineFlags engine_flags(const BenchFlags& flags) {
  app::EngineFlags serving;
  serving.max_num_batched_tokens = std::max<std::int64_t>(512, flags.batch);
  serving.max_num_seqs = flags.batch;
  serving.prefix_caching = false;
  return serving;
}

// All of them by turns, so that each round is of one state of the machine.
void measure(bench::ModelRun& model, const BenchFlags& flags, std::vector<Measured>& all) {
  LatencyLoad load{.batch = flags.batch,
                   .prompt_tokens = flags.prompt_tokens,
                   .output_tokens = flags.output_tokens,
                   .seed = flags.seed};
  const auto made = model.make_engine(engine_flags(flags), kv_tokens(load, model.block_tokens()));
  for (const Measured& one : all) {
    if (one.adapter != nullptr) made.adapters->set()->put(std::to_string(one.rank), "", one.adapter);
  }
  for (int run = -1; run < flags.runs; ++run) {  // the first warms up
    model.probe().around([&] {
      for (Measured& one : all) {
        load.adapters.clear();
        if (one.adapter != nullptr) load.adapters.push_back({.key = one.adapter->key(), .adapter = one.adapter});
        ++load.seed;
        const LatencySample sample = run_latency(*made.engine, model.timed(), model.vocabulary(), load);
        if (run >= 0) one.runs.push_back(sample);
      }
    });
  }
}

// A time of each run, and how many times the base's speed of the same round that is.
struct Figures {
  metrics::Spread ms, speed;
};

Figures figures_of(const Measured& one, const Measured& base, double LatencySample::* time) {
  std::vector<double> times, speeds;
  for (std::size_t i = 0; i < one.runs.size(); ++i) {
    times.push_back(one.runs[i].*time);
    speeds.push_back(base.runs[i].*time / times.back());
  }
  return {metrics::spread_of(times), metrics::spread_of(speeds)};
}

int bench_ranks(const BenchFlags& flags) {
  const auto ranks = bench::parse_numbers("rank", flags.ranks, 1, runtime::kMaxLoraRank);
  flags.adapters.validate().or_throw();
  flags.report.check_writable();
  bench::ModelRun model(flags.model, flags.probe_seconds);
  std::vector<Measured> all(1);
  for (const std::int64_t rank : ranks) all.push_back({.rank = rank, .adapter = random_adapter(model, flags, rank)});
  measure(model, flags, all);
  bench::Table table(
      {{"rank"}, {"modules"}, {"size"}, {"prefill ms"}, {"speed"}, {"TPOT ms"}, {"speed"}, {"range", true}});
  Json results = Json::array();
  for (const Measured& one : all) {
    const Figures prefill = figures_of(one, all.front(), &LatencySample::prefill_ms);
    const Figures tpot = figures_of(one, all.front(), &LatencySample::tpot_ms);
    const std::size_t bytes = one.adapter == nullptr ? 0 : one.adapter->bytes();
    const std::int64_t modules = one.adapter == nullptr ? 0 : one.adapter->summary().modules;
    results.push_back({{"rank", one.rank},
                       {"modules", modules},
                       {"type", one.adapter == nullptr ? "" : one.adapter->summary().type},
                       {"bytes", bytes},
                       {"prefill_ms", bench::json_of(prefill.ms)},
                       {"prefill_speed", bench::json_of(prefill.speed)},
                       {"tpot_ms", bench::json_of(tpot.ms)},
                       {"tpot_speed", bench::json_of(tpot.speed)}});
    table.add({one.adapter == nullptr ? "base" : std::to_string(one.rank), std::to_string(modules),
               one.adapter == nullptr ? "-" : readable_bytes(static_cast<double>(bytes)),
               bench::rounded(prefill.ms.median), fmt::format("{:.3f}", prefill.speed.median),
               bench::rounded(tpot.ms.median), fmt::format("{:.3f}", tpot.speed.median),
               fmt::format("{:.3f}-{:.3f}", tpot.speed.min, tpot.speed.max)});
  }
  if (flags.report.table()) {
    fmt::print(
        "{}\n{} sequences of {} prompt and {} output tokens; speeds are times that of the base in the same round, "
        "medians of {} rounds\n\n{}\n{}\n",
        app::printable(model.description()), flags.batch, flags.prompt_tokens, flags.output_tokens, flags.runs,
        table.str(), bench::describe(model.probe().measured()));
  }
  Json report = model.new_report("lora");
  report["options"] = {{"batch", flags.batch},
                       {"prompt_tokens", flags.prompt_tokens},
                       {"output_tokens", flags.output_tokens},
                       {"runs", flags.runs},
                       {"lora_dtype", flags.adapters.type}};
  report["results"] = std::move(results);
  write_report(flags.report, report);
  return 0;
}

}  // namespace

app::Command bench() {
  return {.name = "bench",
          .summary = "Measure what adapters of random weights cost by rank, beside the base",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<BenchFlags>();
            app.add_option("model", flags->model.model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
            app.add_option("--rank", flags->ranks, "Ranks to measure, comma-separated");
            app.add_option("--modules", flags->kinds,
                           "Linear layers that the adapters change, such as q_proj,v_proj; default all but the head")
                ->delimiter(',')
                ->allow_extra_args(false);
            app.add_option("--lora-dtype", flags->adapters.type,
                           "Data type of adapters in memory: auto (f32 for models in f32, else bf16), f32, bf16, or "
                           "int8 (A and B in 8 bits)")
                ->check(CLI::IsMember(runtime::adapter_types()));
            app.add_option("--batch", flags->batch, "Concurrent sequences, all with the adapter")
                ->check(CLI::Range(std::int64_t{1}, kMaxBatch));
            app.add_option("--prompt-tokens", flags->prompt_tokens, "Tokens per prompt")
                ->check(CLI::Range(std::int64_t{1}, metrics::kMaxTokens));
            app.add_option("--output-tokens", flags->output_tokens, "Tokens per completion")
                ->check(CLI::Range(std::int64_t{2}, metrics::kMaxTokens));
            app.add_option("--runs", flags->runs, "Number of measured rounds, each of the base and all ranks")
                ->check(CLI::Range(1, 10000));
            app.add_option("--seed", flags->seed, "Random seed of the prompts");
            app.add_option("--probe-time", flags->probe_seconds, "Seconds for each measurement of each machine limit")
                ->check(CLI::Range(1e-4, 10.0));
            flags->model.declare(app);
            flags->report.declare(app);
            return [flags] { return bench_ranks(*flags); };
          },
          .example = "millrace lora bench default --rank 16,64"};
}

}  // namespace millrace::lora::commands
