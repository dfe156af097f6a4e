#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "loadtest/target.h"

namespace millrace::loadtest {

// A server that lives as long as this: started here, killed with us. Its stdout and stderr go to `log`.
class LaunchedServer {
 public:
  struct Command {
    // argv[0] is found by PATH. "{port}" anywhere in an argument becomes a free port of 127.0.0.1.
    std::vector<std::string> argv;
    std::string log;             // path of a file, written anew
    double ready_seconds = 600;  // until it serves
  };
  // Ready when this returns. Throws LoadError with the last lines of the log where it ends, does not come up in time,
  // or `stop` says so.
  LaunchedServer(Command command, const std::function<bool()>& stop = {});
  ~LaunchedServer();  // SIGTERM, and SIGKILL after 20 s
  LaunchedServer(const LaunchedServer&) = delete;
  LaunchedServer& operator=(const LaunchedServer&) = delete;

  const Target& target() const noexcept { return target_; }
  pid_t pid() const noexcept { return pid_; }
  const std::vector<std::string>& argv() const noexcept { return command_.argv; }
  void end();  // as the destructor; waits for its end, so that what it writes is there

 private:
  std::string last_lines() const;
  Command command_;
  Target target_;
  pid_t pid_ = -1;
};

// A command line as a shell would split it: words between spaces, quotes ' and ", backslashes; nothing is expanded.
// kInvalidArgument naming `flag` where a quote is left open.
Result<std::vector<std::string>> split_command(std::string_view flag, std::string_view text);

}  // namespace millrace::loadtest
