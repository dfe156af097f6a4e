#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "cli.h"
#include "command.h"
#include "help_page.h"
#include "old_flags.h"
#include "printable.h"
#include "rank_process.h"
#include "runtime/follow_rank.h"
#include "runtime/mpi_ranks.h"
#include "runtime/rank_group.h"
#include "screen/look.h"
#include "usage_error.h"
#include "version_text.h"

namespace millrace {
namespace {

// What millrace alone prints. The exit code is 0, as with ollama, docker, kubectl and cargo: nothing was asked for, and
// nothing went wrong. A script that lost the command from its command line sees this text where it expects a result.
constexpr const char* kBeginning = R"(millrace runs and serves large language models.

  millrace run                    chat with the default model
  millrace pull org/name:Q4_K_M   download a model of the Hugging Face hub
  millrace serve org/name         serve it over HTTP with the OpenAI and Anthropic APIs

'millrace help' lists all commands, 'millrace help COMMAND' explains one.
)";

struct CommandLine {
  std::string log_level;
  bool check_usage = false;
  std::function<int()> selected;  // the command to run
};

void declare(CLI::App& app, CommandLine& line) {
  app.formatter(app::help_page(app::help_width()));
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_help_all_flag("--help-all", "Print the help of every command and exit");
  app.set_version_flag("-V,--version", [] { return app::version_text(); })
      ->description("Print version, commit, compiler and instruction set, and exit");
  app.add_flag("--check-usage", line.check_usage, "Check the command line and exit without running the command");
  app.add_option("--log-level", line.log_level,
                 "Lowest severity to log: debug, info, warn, error or off; default warn, info for serve")
      ->envname("MILLRACE_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));
  for (const app::Command& command : app::all_commands()) {
    const app::AddedCommand added = app::add_command(app, command);
    added.app->callback([&line, action = added.action, level = command.log_level] {
      line.selected = action;
      if (line.log_level.empty()) line.log_level = level;
    });
  }
  app.footer("Example:\n  millrace run default \"What is the capital of France?\"");  // commands would inherit it
}

int refuse(const std::string& message) {
  std::fprintf(stderr, "%s\n", app::printable(message).c_str());
  return exit_code(ErrorCode::kInvalidArgument);
}

void set_log_level(const std::string& wanted) {
  constexpr std::pair<std::string_view, log::Level> kLevels[] = {{"debug", log::Level::kDebug},
                                                                 {"info", log::Level::kInfo},
                                                                 {"warn", log::Level::kWarn},
                                                                 {"error", log::Level::kError},
                                                                 {"off", log::Level::kOff}};
  for (const auto& [name, level] : kLevels) {
    if (name == wanted) log::set_level(level);
  }
}

int run(const std::function<int()>& command) {
  try {
    const int code = command();
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

}  // namespace
}  // namespace millrace

// stdout carries results, stderr everything else. Exit codes: 0 ok, 1 runtime, 2 usage, 3 model not found or unusable,
// 4 out of memory, 130 interrupted.
int main(int argc, char** argv) {
  using namespace millrace;
  if (argc == 4 && std::string_view(argv[1]) == runtime::kFollowRank) {
    return run([&] {
      runtime::follow_rank(std::atoi(argv[2]), std::atoi(argv[3]));
      return 0;
    });
  }
  CLI::App app("Run and serve large language models", "millrace");
  CommandLine line;
  declare(app, line);
  const std::vector<std::string> arguments = app::with_current_flags(argc, argv);
  if (arguments.empty()) {
    return run([] {
      std::fputs(kBeginning, stdout);
      return 0;
    });
  }
  if (const auto message = app::hidden_option(app, arguments)) return refuse(*message);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return refuse(app::usage_error(app, error, arguments));
  }
  if (line.check_usage) return 0;
  set_log_level(line.log_level);
  log::set_colour(screen::look_of(STDERR_FILENO).styles);
  return runtime::leave_mpi(run([&] {
    const std::optional<int> followed = app::follow_as_rank(app);
    return followed ? *followed : line.selected();
  }));
}
