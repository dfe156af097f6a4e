#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/log.h"
#include "cli.h"
#include "command.h"
#include "old_flags.h"
#include "printable.h"
#include "usage_error.h"

// stdout carries results, stderr everything else. Exit codes: 0 ok, 1 runtime, 2 usage, 3 model not found or unusable,
// 4 out of memory, 130 interrupted.
int main(int argc, char** argv) {
  using namespace millrace;
  CLI::App app("millrace: runs and serves large language models", "millrace");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every subcommand and exit");
  std::string log_level;
  app.add_option("--log-level", log_level,
                 "Lowest severity to log: debug, info, warn, error or off; default warn, info for serve")
      ->envname("MILLRACE_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));
  std::function<int()> selected;
  for (const app::Command& command : app::all_commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    auto action = command.configure(*sub);
    sub->callback([&, action, level = command.log_level] {
      selected = action;
      if (log_level.empty()) log_level = level;
    });
  }
  try {
    std::vector<std::string> arguments = app::with_current_flags(argc, argv);
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "%s\n", app::printable(app::usage_error(app, error)).c_str());
    return exit_code(ErrorCode::kInvalidArgument);
  }
  constexpr std::pair<std::string_view, log::Level> kLevels[] = {{"debug", log::Level::kDebug},
                                                                 {"info", log::Level::kInfo},
                                                                 {"warn", log::Level::kWarn},
                                                                 {"error", log::Level::kError},
                                                                 {"off", log::Level::kOff}};
  for (const auto& [name, level] : kLevels) {
    if (name == log_level) log::set_level(level);
  }
  try {
    const int code = selected();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fprintf(stderr, "millrace: stdout: cannot write the result\n");
    return exit_code(ErrorCode::kInternal);
  } catch (const LoadError& failure) {
    std::fprintf(stderr, "millrace: %s\n", app::printable(failure.error().message).c_str());
    return exit_code(failure.error().code);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "millrace: out of memory\n");
    return exit_code(ErrorCode::kResourceExhausted);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "millrace: internal error: %s\n", app::printable(failure.what()).c_str());
    return exit_code(ErrorCode::kInternal);
  }
}
