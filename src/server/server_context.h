#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "server/access.h"
#include "server/billing_header.h"
#include "server/failure_signal.h"
#include "server/model_host.h"
#include "server/prep_pool.h"
#include "server/request_ids.h"
#include "server/request_journal.h"
#include "server/running_requests.h"
#include "server/service_config.h"
#include "server/session_registry.h"

namespace millrace::server {

// The parts of a server that routes work with. The Service owns the context and hands requests to routes. Every part is
// thread-safe, except where its comment says otherwise.
struct ServerContext {
  // `observers` and `env` must outlive the context.
  ServerContext(ServiceConfig settings, Access keys, std::vector<ModelEntry> entries, const HostConfig& host,
                Observers& observers, Env& env)
      : config(std::move(settings)),
        access(std::move(keys)),
        journal(observers, env),
        request_ids(env.random_seed()),
        billing_headers(config.keep_billing_header),
        models(std::move(entries), host, env),
        sessions({}, env),
        prep_pool(config.prep_threads) {}
  // Stops the loading thread first: it hands requests to prep_pool, whose threads in turn call `models`.
  ~ServerContext() { models.stop(); }
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  // Whether an engine has failed, or has been in one step for more than config.step_seconds.
  bool engine_failed() const { return models.engine_failed(config.step_seconds * 1e3); }

  const ServiceConfig config;
  Access access;
  RequestJournal journal;
  RequestIds request_ids;
  BillingHeaders billing_headers;
  RunningRequests running;
  FailureSignal failure;               // raised when the server gives up, as an engine has failed
  WakeList adapter_removals;           // woken when an adapter's name was removed
  std::atomic<bool> draining = false;  // routes of scope infer answer 503
  // The number of open connections. Set before requests come; called by connections' threads only. Empty: there are
  // none.
  std::function<int()> connections;
  ModelHost models;
  SessionRegistry sessions;  // after `models`, as sessions hold models
  PrepPool prep_pool;        // last, as its threads use all other members
};

}  // namespace millrace::server
