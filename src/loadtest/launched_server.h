#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "loadtest/target.h"

namespace millrace::loadtest {

// A server process that this object starts and ends. It is killed if this process dies. Its stdout and stderr go to
// `log`.
class LaunchedServer {
 public:
  struct Command {
    // argv[0] is searched in PATH. "{port}" in an argument is replaced by a free port of 127.0.0.1.
    std::vector<std::string> argv;
    std::string log;             // path of a file, which is overwritten
    double ready_seconds = 600;  // limit of the time until it serves
  };
  // Waits until the server is ready. Throws LoadError with the last lines of the log if it ends, is not ready in time,
  // or `stop` returns true.
  LaunchedServer(Command command, const std::function<bool()>& stop = {});
  ~LaunchedServer();  // SIGTERM, then SIGKILL after 20 s
  LaunchedServer(const LaunchedServer&) = delete;
  LaunchedServer& operator=(const LaunchedServer&) = delete;

  const Target& target() const noexcept { return target_; }
  pid_t pid() const noexcept { return pid_; }
  const std::vector<std::string>& argv() const noexcept { return command_.argv; }
  void end();  // ends it as the destructor does, and waits until its output is complete

 private:
  std::string last_lines() const;
  Command command_;
  Target target_;
  pid_t pid_ = -1;
};

// Splits a command line as a shell does: words between spaces, quotes ' and ", backslashes; nothing is expanded.
// kInvalidArgument naming `flag` for an unclosed quote.
Result<std::vector<std::string>> split_command(std::string_view flag, std::string_view text);

}  // namespace millrace::loadtest
