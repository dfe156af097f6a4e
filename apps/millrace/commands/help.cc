#include <fmt/core.h>

#include "base/error.h"
#include "cli.h"
#include "command.h"
#include "did_you_mean.h"

namespace millrace::commands {
namespace {

const CLI::App& root_of(const CLI::App& app) { return app.get_parent() == nullptr ? app : root_of(*app.get_parent()); }

const CLI::App& find_command(const CLI::App& level, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : level.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); })) {
    if (sub->get_name() == word) return *sub;
    names.push_back(sub->get_name());
  }
  throw_load_error(ErrorCode::kInvalidArgument, "command", "help: unknown command '{}'{}", word,
                   app::did_you_mean(word, names));
}

int help(const CLI::App& own, const std::vector<std::string>& words) {
  const CLI::App* command = &root_of(own);
  for (const std::string& word : words) command = &find_command(*command, word);
  // Not help(), which the parser hands on to the command that was typed: this one.
  fmt::print("{}", command->get_formatter()->make_help(command, command->get_name(), CLI::AppFormatMode::Normal));
  return 0;
}

}  // namespace

app::Command help() {
  return {.name = "help",
          .summary = "Print the help of millrace, or of a command",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto words = std::make_shared<std::vector<std::string>>();
            app.add_option("command", *words, "Command to explain, e.g. serve, or bench serve; default millrace itself")
                ->type_name("COMMAND");
            return [words, &app] { return help(app, *words); };
          },
          .example = "millrace help bench serve"};
}

}  // namespace millrace::commands
