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
              CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
              sub->callback([selected, action = command.configure(*sub)] { *selected = action; });
            }
            return [selected] { return (*selected)(); };
          }};
}

}  // namespace millrace::commands
