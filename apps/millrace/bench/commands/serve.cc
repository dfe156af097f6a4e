#include <cmath>

#include "bench/load/live_line.h"
#include "bench/load/output_flags.h"
#include "bench/load/run_report.h"
#include "bench/load/system_under_test.h"
#include "cli.h"
#include "command.h"
#include "loadtest/report/earlier_run.h"
#include "loadtest/report/summary_text.h"
#include "option_heading.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

struct ServeFlags {
  SystemUnderTestFlags system;
  LoadFlags load;
  OutputFlags output;
  std::string compare_with;  // JSON of an earlier run; empty: none
};

int serve(const ServeFlags& flags) {
  flags.output.check_writable();
  static_cast<void>(flags.load.slos());  // says what is wrong before a server is started
  Json earlier;
  if (!flags.compare_with.empty()) earlier = loadtest::report::read_earlier_run(flags.compare_with).or_throw();
  LiveLine live(flags.output.quiet ? "" : "load");
  SystemUnderTest system(flags.system, flags.load.model, LiveLine::interrupted);
  const MeasuredRun measured = system.measure(flags.load, live.hooks());
  Json report = flags.output.complete("serve", run_report(flags.load, measured));
  if (!earlier.is_null()) report["earlier"] = loadtest::report::earlier_json(report, earlier, flags.compare_with);
  if (flags.output.table()) {
    fmt::print("{}", app::printable_lines(loadtest::report::summary_text(report)));
    fmt::print("{}", app::printable_lines(loadtest::report::earlier_text(report)));
  }
  flags.output.write("serve", report);
  if (measured.run.stopped) return 130;
  return measured.metrics.completed > 0 ? 0 : 1;
}

}  // namespace

app::Command serve() {
  return {
      .name = "serve",
      .summary =
          "Load test a server with the OpenAI API: TTFT, TPOT, latency, throughput, goodput and MBU, with the reasons",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<ServeFlags>();
        flags->system.steps = true;
        flags->system.declare(app);
        flags->system.declare_steps(app);
        flags->load.declare(app);
        flags->output.declare(app);
        const app::OptionHeading heading(app, "Reports");
        app.add_option("--compare-with", flags->compare_with,
                       "JSON report of an earlier run that this one is shown beside, with each change")
            ->type_name("FILE");
        return [flags] { return serve(*flags); };
      },
      .example = "millrace bench serve http://127.0.0.1:8000 --num-prompts 20"};
}

}  // namespace millrace::bench::commands
