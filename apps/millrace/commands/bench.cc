#include "cli.h"
#include "command.h"

namespace millrace::commands {

app::Command bench() {
  return {.name = "bench",
          .summary = "Measure speed, each metric beside the limit of the machine",
          .configure = [](CLI::App& app) -> std::function<int()> {
            app.require_subcommand(1);
            auto selected = std::make_shared<std::function<int()>>();
            for (const app::Command& command : app::all_bench_commands()) {
              const app::AddedCommand added = app::add_command(app, command);
              added.app->callback([selected, action = added.action] { *selected = action; });
            }
            return [selected] { return (*selected)(); };
          },
          .example = "millrace bench latency default"};
}

}  // namespace millrace::commands
