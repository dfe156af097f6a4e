#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "cli.h"
#include "command.h"
#include "screen/status_line.h"
#include "servers/running_servers.h"

namespace millrace::commands {
namespace {

struct StopFlags {
  std::string server;
  bool all = false, now = false;
};

std::vector<app::ServerReport> chosen(const StopFlags& flags) {
  if (!flags.all) return {app::chosen_server(flags.server).or_throw()};
  std::vector<app::ServerReport> out;
  for (const app::RunningServer& server : app::running_servers().or_throw()) out.push_back(app::report_of(server));
  return out;
}

void send(int pid, int signal) {
  if (::kill(pid, signal) == 0 || errno == ESRCH) return;
  throw_load_error(ErrorCode::kInvalidArgument, "server", "{}: {}", pid, std::strerror(errno));
}

// Running requests may end within the server's --shutdown-timeout; a second signal ends it at once.
int stop(const StopFlags& flags) {
  constexpr std::chrono::milliseconds kLook{50};
  screen::StatusLine status;
  for (const app::ServerReport& report : chosen(flags)) {
    const int pid = report.server.pid;
    send(pid, SIGTERM);
    status.show(report.requests > 0 ? fmt::format("{}: {} running requests may end", pid, report.requests)
                                    : fmt::format("{}: stopping", pid));
    for (int looks = 1; app::still_runs(report.server); ++looks) {
      std::this_thread::sleep_for(kLook);
      if (flags.now && looks % 4 == 0) send(pid, SIGTERM);
    }
    status.clear();
    fmt::print("stopped {}\n", pid);
  }
  return 0;
}

}  // namespace

app::Command stop() {
  return {.name = "stop",
          .summary = "Stop a server of yours, after its running requests have ended",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<StopFlags>();
            CLI::Option* server = app.add_option("server", flags->server,
                                                 "Process id or port of the server, as `millrace ps` lists them; "
                                                 "not needed where only one runs");
            app.add_flag("--all", flags->all, "Stop all servers of yours")->excludes(server);
            app.add_flag("--now", flags->now, "Cancel running requests instead of waiting for them");
            return [flags] { return stop(*flags); };
          },
          .example = "millrace stop"};
}

}  // namespace millrace::commands
