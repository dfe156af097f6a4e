#include "loadtest/self_check.h"

#include <cstdio>

#include "base/cpu.h"
#include "bench/report.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"

namespace millrace::bench::commands {
namespace {

struct SelfCheckFlags {
  loadtest::Pace pace{.streams = 200, .events = 100, .jitter = 0.5};
  double events_s = 20.0, first_ms = 200.0, ramp_s = 1.0, limit_percent = 1.0;
  ReportFlags report;
};

std::string in_ms(const metrics::Distribution& d) {
  return fmt::format("p50 {:.3f}, p99 {:.3f}, max {:.3f} ms", d.p50, d.p99, d.max);
}

void print(const loadtest::SelfCheck& check, double limit_percent) {
  Table table({{"metric", true}, {"scripted"}, {"server"}, {"client"}, {"error %"}});
  for (const loadtest::CheckedMetric& f : check.compared) {
    table.add({f.unit.empty() ? f.name : f.name + " " + f.unit, fmt::format("{:.3f}", f.scripted),
               fmt::format("{:.3f}", f.server), fmt::format("{:.3f}", f.client),
               fmt::format("{:.3f}", f.error_percent())});
  }
  fmt::print("{}\n{} of {} streams whole, {} events, {:.0f} a second\n", table.str(), check.whole, check.streams,
             check.events, check.events_s);
  fmt::print("requests sent after they were due  {}\n", in_ms(check.send_lag_ms));
  fmt::print("events read after they were written {}\n", in_ms(check.client_delay_ms));
  fmt::print("events written after they were due  {} (the server's own)\n", in_ms(check.server_late_ms));
  fmt::print("client: {:.1f} % of a processor{}\n", 100.0 * check.client_cpu_share,
             check.client_is_full()   ? "; it was the bottleneck"
             : check.sends_are_late() ? "; others kept it from sending in time"
                                      : "");
  fmt::print("largest error {:.3f} %, allowed {:g} %\n", check.worst_percent, limit_percent);
}

Json json_of_check(const loadtest::SelfCheck& check) {
  Json out = {{"streams", check.streams},
              {"whole", check.whole},
              {"events", check.events},
              {"events_s", check.events_s},
              {"send_lag_ms", json_of(check.send_lag_ms)},
              {"client_delay_ms", json_of(check.client_delay_ms)},
              {"server_late_ms", json_of(check.server_late_ms)},
              {"client_cpu_share", check.client_cpu_share},
              {"client_is_full", check.client_is_full()},
              {"sends_are_late", check.sends_are_late()},
              {"worst_percent", check.worst_percent},
              {"metrics", Json::array()}};
  for (const loadtest::CheckedMetric& f : check.compared) {
    out["metrics"].push_back({{"name", f.name},
                              {"unit", f.unit},
                              {"scripted", f.scripted},
                              {"server", f.server},
                              {"client", f.client},
                              {"error_percent", f.error_percent()}});
  }
  const Json metrics = out["metrics"];
  out["figures"] = metrics;  // base/old_names.h
  return out;
}

int self_check(const SelfCheckFlags& flags) {
  flags.report.check_writable();
  loadtest::Pace pace = flags.pace;
  pace.gap_s = 1.0 / flags.events_s;
  pace.first_s = flags.first_ms / 1e3;
  const loadtest::SelfCheck check = loadtest::self_check(pace, flags.ramp_s);
  if (flags.report.table()) print(check, flags.limit_percent);
  Json report = new_report("self-check", 1, detect_isa());
  report["options"] = {{"streams", pace.streams},   {"tokens", pace.events}, {"rate", flags.events_s},
                       {"ttft_ms", flags.first_ms}, {"jitter", pace.jitter}, {"ramp", flags.ramp_s},
                       {"seed", pace.seed}};
  report["results"] = json_of_check(check);
  write_report(flags.report, report);
  return check.whole == check.streams && check.worst_percent <= flags.limit_percent ? 0 : 1;
}

}  // namespace

app::Command self_check() {
  return {.name = "self-check",
          .summary = "Check the load generator's measurements against a server with known timing",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<SelfCheckFlags>();
            app.add_option("--streams", flags->pace.streams, "Number of concurrent streams")
                ->check(CLI::Range(1, 100'000))
                ->capture_default_str();
            app.add_option("--tokens", flags->pace.events, "Tokens (events) per stream")
                ->check(CLI::Range(2, 100'000))
                ->capture_default_str();
            app.add_option("--rate", flags->events_s, "Tokens (events) per second of each stream")
                ->check(CLI::Range(0.01, 1e6))
                ->capture_default_str();
            app.add_option("--ttft", flags->first_ms, "Milliseconds from a request to its first event")
                ->check(CLI::Range(0.0, 1e6))
                ->capture_default_str();
            app.add_option("--jitter", flags->pace.jitter,
                           "Random variation of each time as a fraction, from 0 (none) to 1")
                ->check(CLI::Range(0.0, 1.0))
                ->capture_default_str();
            app.add_option("--ramp", flags->ramp_s, "Seconds over which the starts of the streams are spread")
                ->check(CLI::Range(1e-3, 1e4))
                ->capture_default_str();
            app.add_option("--seed", flags->pace.seed, "Random seed of start times and jitter");
            app.add_option("--limit", flags->limit_percent,
                           "Max measurement error in percent; above it the exit code is 1")
                ->capture_default_str();
            flags->report.declare(app);
            return [flags] { return self_check(*flags); };
          },
          .example = "millrace bench self-check --streams 50"};
}

}  // namespace millrace::bench::commands
