#include "cli.h"
#include "command.h"

namespace millrace::commands {

app::Command lora() {
  return {.name = "lora",
          .summary = "List, check, merge, make and measure LoRA adapters",
          .configure = [](CLI::App& app) -> std::function<int()> {
            app.require_subcommand(1);
            auto selected = std::make_shared<std::function<int()>>();
            for (const app::Command& command : app::all_lora_commands()) {
              const app::AddedCommand added = app::add_command(app, command);
              added.app->callback([selected, action = added.action] { *selected = action; });
            }
            return [selected] { return (*selected)(); };
          },
          .example = "millrace lora check org/base adapters/sql"};
}

}  // namespace millrace::commands
