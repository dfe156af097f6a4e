#pragma once

#include <functional>

#include "http/server.h"
#include "server/service.h"

namespace millrace::app {

// SIGTERM, SIGINT and SIGHUP wait for run_until_told(). Before the first thread starts, so that all inherit it.
void hold_signals();

// Serves until told to stop, or until an engine fails; SIGHUP calls `reload`, which says in the log what went wrong.
// Returns the exit code: 0 after a drain, 70 where an engine has failed, the model's where the first one could not be
// loaded. A second signal ends the process at once. Tells systemd when it is ready and that it lives (sd_notify(3)).
int run_until_told(http::Server& server, server::Service& service, double shutdown_seconds,
                   const std::function<void()>& reload);

}  // namespace millrace::app
