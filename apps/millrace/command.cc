#include "command.h"

#include <fmt/core.h>

#include "cli.h"

namespace millrace::app {

AddedCommand add_command(CLI::App& parent, const Command& command) {
  AddedCommand added{.app = parent.add_subcommand(std::string(command.name), std::string(command.summary))};
  added.action = command.configure(*added.app);
  std::string footer = added.app->get_footer();
  if (!command.example.empty())
    footer += fmt::format("{}Example:\n  {}", footer.empty() ? "" : "\n\n", command.example);
  added.app->footer(footer);
  return added;
}

}  // namespace millrace::app
