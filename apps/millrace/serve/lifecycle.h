#pragma once

#include <functional>

#include "http/server.h"
#include "server/service.h"

namespace millrace::app {

// Blocks SIGTERM, SIGINT and SIGHUP, which run_until_told() then takes, and ignores SIGPIPE. Must be called before the
// first thread starts, since threads inherit the mask.
void hold_signals();

// Serves until SIGTERM or SIGINT, until an engine fails, or until the first model cannot be loaded. After a signal it
// drains `service`: running requests have `shutdown_seconds` to end. A second SIGTERM or SIGINT ends the process at
// once. SIGHUP calls `reload` on this thread, which must log its own errors. Returns the exit code: 0 after a drain, 70
// if an engine has failed, exit_code() of the error if the first model cannot be loaded. It also starts a timer that
// ends the process at most 5 seconds later, whatever hangs. Reports readiness, life and end to systemd (sd_notify(3)).
int run_until_told(http::Server& server, server::Service& service, double shutdown_seconds,
                   const std::function<void()>& reload);

}  // namespace millrace::app
