#pragma once

#include <functional>

#include "http/server.h"
#include "server/service.h"

namespace millrace::app {

// Blocks SIGTERM, SIGINT and SIGHUP until run_until_told() takes them. Call it before the first thread starts, so that
// all threads inherit the mask.
void hold_signals();

// Serves until a signal to stop, or until an engine fails. SIGHUP calls `reload`, which logs its errors. Returns the
// exit code: 0 after a drain, 70 if an engine failed, the error's code if the first model could not be loaded. A second
// signal ends the process at once. Notifies systemd of readiness and liveness (sd_notify(3)).
int run_until_told(http::Server& server, server::Service& service, double shutdown_seconds,
                   const std::function<void()>& reload);

}  // namespace millrace::app
