#include <cmath>

#include "bench/load/live_line.h"
#include "bench/load/output_flags.h"
#include "bench/load/run_report.h"
#include "bench/load/system_under_test.h"
#include "cli.h"
#include "command.h"
#include "loadtest/report/summary_text.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

struct ServeFlags {
  SystemUnderTestFlags system;
  LoadFlags load;
  OutputFlags output;
};

int serve(const ServeFlags& flags) {
  flags.output.check_writable();
  static_cast<void>(flags.load.slos());  // says what is wrong before a server is started
  LiveLine live(flags.output.quiet ? "" : "load");
  SystemUnderTest system(flags.system, flags.load.model, LiveLine::interrupted);
  const MeasuredRun measured = system.measure(flags.load, live.hooks());
  const Json report = flags.output.complete("serve", run_report(flags.load, measured));
  if (flags.output.table()) fmt::print("{}", app::printable_lines(loadtest::report::summary_text(report)));
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
        return [flags] { return serve(*flags); };
      },
      .example = "millrace bench serve http://127.0.0.1:8000 --num-prompts 20"};
}

}  // namespace millrace::bench::commands
