#include "bench/load/live_line.h"
#include "bench/load/sweep_run.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

std::string names_of_axes() {
  std::string text;
  for (const SweepAxis& axis : all_sweep_axes()) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", axis.name, axis.summary);
  }
  return text;
}

std::string cell(const Json& metrics, const char* name) {
  return metrics.contains(name) && !metrics[name].is_null() ? rounded(metrics[name]["value"].get<double>()) : "-";
}

void print_table(const Json& report) {
  Table table({{"series", true},
               {report["axis"]["name"].get<std::string>()},
               {"requests"},
               {"TTFT p50 ms"},
               {"p99"},
               {"TPOT p50 ms"},
               {"p99"},
               {"latency p50 ms"},
               {"requests/s"},
               {"output tok/s"},
               {"machine", true}});
  for (const Json& series : report["series"]) {
    for (const Json& point : series["points"]) {
      const Json& m = point["metrics"];
      table.add({app::printable(series["label"].get<std::string>()), rounded(point["x"].get<double>()),
                 fmt::format("{}", point["requests"].get<std::int64_t>()), cell(m, "median_ttft_ms"),
                 cell(m, "p99_ttft_ms"), cell(m, "median_tpot_ms"), cell(m, "p99_tpot_ms"), cell(m, "median_e2el_ms"),
                 cell(m, "request_throughput"), cell(m, "output_throughput"), point["noise"].get<std::string>()});
    }
  }
  fmt::print("{}\nEach point: {}.\n", table.str(), report["point_size"].get<std::string>());
  for (const Json& knee : report.value("knee", Json::array())) {
    fmt::print("{}: bends at {}: {}\n", app::printable(knee["label"].get<std::string>()),
               knee["x"].is_null() ? std::string("-") : rounded(knee["x"].get<double>()),
               knee["why"].get<std::string>());
  }
  for (const Json& found : report.value("max_goodput", Json::array())) {
    fmt::print("{}: {} by {:.0f} % of the requests up to {} requests/s\n",
               app::printable(found["label"].get<std::string>()), found["objective"].get<std::string>(),
               100.0 * found["wanted_share"].get<double>(),
               found["rate"].is_null() ? std::string("no rate tried, so less than the lowest")
                                       : rounded(found["rate"]["value"].get<double>()));
  }
}

int sweep(const SweepFlags& flags) {
  flags.output.check_writable();
  SweepRun run(flags);
  run.measure();
  const Json report = flags.output.complete("sweep", run.report());
  if (flags.output.table()) print_table(report);
  flags.output.write("sweep", report);
  return run.stopped() ? 130 : 0;
}

}  // namespace

app::Command sweep() {
  return {
      .name = "sweep",
      .summary = "Repeat a load test at several rates, batch sizes or lengths, on one or more server configurations",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<SweepFlags>();
        flags->system.declare(app);
        app.add_option("--axis", flags->axis, "Variable to sweep. " + names_of_axes())->capture_default_str();
        app.add_option("--values", flags->values,
                       "Values of --axis to measure, comma-separated; default depends on the axis")
            ->delimiter(',');
        app.add_option("--series", flags->series,
                       "Server configurations to compare: LABEL=ARGUMENTS of `millrace serve`, or a preset: batching, "
                       "policies, prefix-caching, speculation, kv-dtypes");
        app.add_option("--runs", flags->runs, "Number of runs per point, alternating between the series")
            ->check(CLI::Range(1, 1000));
        app.add_option(
               "--point-seconds", flags->point_seconds,
               "Seconds of requests that a point at a request rate sends, at least 20 of them; with --num-prompts, "
               "whichever ends first; default 30, or what --num-prompts says")
            ->check(CLI::Range(0.1, 86400.0));
        app.add_flag("--resume", flags->resume,
                     "Resume a stopped sweep: keep the points that the --output file already has");
        app.add_option("--max-goodput", flags->max_goodput,
                       "Search the max request rate at which this fraction of requests meets --goodput, e.g. 0.9; "
                       "default no search")
            ->check(CLI::Range(0.01, 0.999));
        app.add_option("--max-rate", flags->max_rate, "Max request rate per second that --max-goodput tries")
            ->check(CLI::Range(1e-3, 1e6));
        flags->load.declare(app);
        app.get_option("--num-prompts")
            ->description(
                "Number of requests of each point, or of conversations where the workload has several turns; default "
                "by --axis: request-rate what --point-seconds says, batch-size 4 for each in flight, else 100")
            ->default_str("");
        flags->output.declare(app);
        return [flags] { return sweep(*flags); };
      },
      .example = "millrace bench sweep --spawn default --axis batch-size --values 1,2,4"};
}

}  // namespace millrace::bench::commands
