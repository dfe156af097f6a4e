#include <algorithm>
#include <filesystem>

#include "bench/load/live_line.h"
#include "bench/load/output_flags.h"
#include "bench/load/system_under_test.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"
#include "loadtest/client/answer_event.h"
#include "loadtest/comparison.h"
#include "loadtest/report/json.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

constexpr int kRegression = 5;  // exit code

struct CompareFlags {
  std::vector<std::string> sides;
  std::vector<std::string> names;  // of A and B; empty: what differs between them
  SystemUnderTestFlags system;     // what both sides share
  LoadFlags load;
  OutputFlags output;
  int rounds = 8;
  double threshold = 3.0;
};

// A URL, a millrace to start (its path), or a server's command line with {port}.
SystemUnderTestFlags side(const SystemUnderTestFlags& shared, const std::string& text) {
  SystemUnderTestFlags flags = shared;
  if (text.find("{port}") != std::string::npos) {
    flags.spawn.clear();
    flags.spawn_command = text;
  } else if (std::filesystem::is_regular_file(text)) {
    flags.program = text;
    if (flags.spawn.empty()) flags.spawn = "default";
  } else {
    flags.spawn.clear();
    flags.url = text;
  }
  return flags;
}

std::vector<std::pair<std::string, double>> metrics_of(const MeasuredRun& measured) {
  std::vector<std::pair<std::string, double>> metrics;
  for (const auto& [name, estimate] : measured.metrics.estimates) metrics.emplace_back(name, estimate.value);
  return metrics;
}

Json json_of_metrics(const std::vector<std::pair<std::string, double>>& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = value;
  return json;
}

using Systems = std::vector<std::unique_ptr<SystemUnderTest>>;

std::string server_of(const SystemUnderTest& system) {
  const loadtest::ServedModel& model = system.model();
  return model.version.empty() || model.server.empty() ? model.server : model.server + " " + model.version;
}

// A command line is long for the name of a line in a chart; its end is what tells one from the other.
std::string shortened(const std::string& text) {
  constexpr std::size_t kWidth = 60;
  return text.size() <= kWidth ? text : "..." + loadtest::one_line(text.substr(text.size() - kWidth + 3), kWidth);
}

// What tells the sides apart: server and version, and the model; where both are alike, what the user wrote for them.
std::vector<std::string> names_of(const CompareFlags& flags, const Systems& systems) {
  if (!flags.names.empty()) return flags.names;
  const auto text_of = [](const std::string& part, const std::string& more) {
    return part.empty() || more.empty() ? part + more : part + ", " + more;
  };
  std::vector<std::string> names(2);
  const auto add_if_it_differs = [&](const std::string& a, const std::string& b) {
    if (a == b || a.empty() || b.empty()) return;
    names = {text_of(names[0], a), text_of(names[1], b)};
  };
  add_if_it_differs(server_of(*systems[0]), server_of(*systems[1]));
  add_if_it_differs(systems[0]->model().id, systems[1]->model().id);
  if (names[0].empty()) add_if_it_differs(shortened(flags.sides[0]), shortened(flags.sides[1]));
  return names[0].empty() ? std::vector<std::string>{"A", "B"} : names;
}

// What the reader must know before any figure; empty: nothing.
std::string remark_of(const CompareFlags& flags, const Systems& systems) {
  if (loadtest::same_server(systems[0]->target(), systems[1]->target())) {
    return fmt::format("A and B are the same server, {}: what differs between them is noise", systems[0]->target().url);
  }
  if (flags.sides[0] == flags.sides[1]) {
    return fmt::format("A and B were started in the same way, by '{}': what differs between them is noise",
                       flags.sides[0]);
  }
  return "";
}

Json report_of(const CompareFlags& flags, const Systems& systems, const std::vector<loadtest::ComparedRound>& rounds,
               const loadtest::Comparison& comparison) {
  const std::vector<std::string> names = names_of(flags, systems);
  Json report;
  report["sides"] = Json::array();
  for (std::size_t i = 0; i < systems.size(); ++i) {
    const loadtest::ServedModel& model = systems[i]->model();
    const auto known = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
    report["sides"].push_back({{"name", names[i]},
                               {"target", flags.sides[i]},
                               {"model_id", model.id},
                               {"server", known(model.server)},
                               {"version", known(model.version)},
                               {"millrace_version", model.server == "millrace" ? known(model.version) : Json(nullptr)},
                               {"spawned", systems[i]->command()}});
  }
  const std::string remark = remark_of(flags, systems);
  report["remark"] = remark.empty() ? Json(nullptr) : Json(remark);
  report["rounds"] = Json::array();
  for (const loadtest::ComparedRound& round : rounds) {
    report["rounds"].push_back({{"order", round.order},
                                {"a", json_of_metrics(round.a)},
                                {"b", json_of_metrics(round.b)},
                                {"noise", round.noise}});
  }
  report.update(loadtest::report::json_of(comparison));
  return report;
}

void print_table(const Json& report, const loadtest::Comparison& comparison) {
  for (const auto& [side, what] : {std::pair{"A", report["sides"][0]}, std::pair{"B", report["sides"][1]}}) {
    const auto name = what["name"].get<std::string>();
    if (name != side) fmt::print("{}: {}\n", side, app::printable(name));
  }
  if (report["remark"].is_string()) fmt::print("{}\n", app::printable(report["remark"].get<std::string>()));
  Table table({{"metric", true}, {"A"}, {"B"}, {"B / A"}, {"95 %"}, {"verdict", true}});
  for (const loadtest::MetricVerdict& v : comparison.verdicts) {
    table.add({v.metric, rounded(v.a), rounded(v.b), fmt::format("{:.3f}", v.ratio.value),
               fmt::format("{:.3f}-{:.3f}", v.ratio.low, v.ratio.high), std::string(loadtest::to_string(v.kind))});
  }
  fmt::print("{}\n", table.str());
  for (const loadtest::MetricVerdict& v : comparison.verdicts) fmt::print("{}: {}\n", v.metric, v.why);
  fmt::print("\n{} (changes below {:g} % count as none)\n", loadtest::to_string(comparison.kind),
             comparison.threshold_percent);
}

// Both sides get the same requests, each round others. A server beside itself gets others each time: the second to be
// asked the same would find it all in its prefix cache.
std::uint64_t seed_of(const CompareFlags& flags, bool same_server, int round, char which) {
  const auto r = static_cast<std::uint64_t>(round);
  return flags.load.seed + (same_server ? 2 * r + (which == 'B' ? 1 : 0) : r);
}

int compare(const CompareFlags& flags) {
  flags.output.check_writable();
  LiveLine live(flags.output.quiet ? "" : "A");
  Systems systems;
  for (const std::string& text : flags.sides) {
    systems.push_back(
        std::make_unique<SystemUnderTest>(side(flags.system, text), flags.load.model, LiveLine::interrupted));
  }
  const bool same_server = loadtest::same_server(systems[0]->target(), systems[1]->target());
  std::vector<loadtest::ComparedRound> rounds;
  bool stopped = false;
  for (int i = 0; i < flags.rounds && !stopped; ++i) {
    loadtest::ComparedRound& round = rounds.emplace_back();
    round.order = i % 2 == 0 ? "AB" : "BA";
    round.noise = "quiet";
    LoadFlags load = flags.load;
    for (const char which : round.order) {
      live.name(fmt::format("round {}/{} {}", i + 1, flags.rounds, which));
      load.seed = seed_of(flags, same_server, i, which);
      const MeasuredRun measured = systems[which == 'A' ? 0 : 1]->measure(load, live.hooks());
      stopped = stopped || measured.run.stopped;
      if (measured.metrics.completed == 0 && !stopped) {
        throw_load_error(ErrorCode::kUnavailable, "compare", "side {}: no request was answered", which);
      }
      (which == 'A' ? round.a : round.b) = metrics_of(measured);
      if (measured.noise.noisy) round.noise = "noisy";
    }
  }
  if (stopped) rounds.pop_back();
  const loadtest::Comparison comparison = loadtest::compare(rounds, flags.threshold);
  const Json report = flags.output.complete("compare", report_of(flags, systems, rounds, comparison));
  if (flags.output.table()) print_table(report, comparison);
  flags.output.write("compare", report);
  if (stopped) return 130;
  return comparison.regression() ? kRegression : 0;
}

}  // namespace

app::Command compare() {
  return {.name = "compare",
          .summary =
              "Compare two servers or two builds of millrace under the same load, and report whether B is better, "
              "equal or worse",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<CompareFlags>();
            app.add_option("sides", flags->sides,
                           "Servers A and B to compare, each a URL, a millrace program, or a command line with {port}")
                ->required()
                ->expected(2);
            app.add_option("--names", flags->names,
                           "Names of A and B in the report; default what differs: server and version, model, or URL")
                ->expected(2);
            app.add_option("--rounds", flags->rounds,
                           "Number of rounds; each runs both servers once, in alternating order")
                ->check(CLI::Range(1, 1000));
            app.add_option("--threshold", flags->threshold, "Difference in percent below which A and B count as equal")
                ->check(CLI::Range(0.0, 100.0));
            flags->system.declare_shared(app);
            flags->load.declare(app);
            flags->output.declare(app);
            app.footer("Exit code 5: B is worse.");
            return [flags] { return compare(*flags); };
          },
          .example = "millrace bench compare http://127.0.0.1:8000 http://127.0.0.1:8001"};
}

}  // namespace millrace::bench::commands
