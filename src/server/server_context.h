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
#include "server/service_config.h"
#include "server/session_registry.h"

namespace millrace::server {

// What routes work with: all of a server but its door, which is the Service. Every part is thread-safe.
struct ServerContext {
  // The observers must outlive it.
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
  // The loading thread hands requests to the pool, whose threads ask for models: it ends while both are there.
  ~ServerContext() { models.stop(); }
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  // An engine failed, or has not come round for too long.
  bool engine_failed() const { return models.engine_failed(config.step_seconds * 1e3); }

  const ServiceConfig config;
  Access access;
  RequestJournal journal;
  RequestIds request_ids;
  BillingHeaders billing_headers;
  FailureSignal failure;               // the server has given up
  std::atomic<bool> draining = false;  // nothing new from now on
  std::function<int()> connections;    // how many there are; asked by connections' threads only. Empty: none
  ModelHost models;
  SessionRegistry sessions;  // whose models it holds
  PrepPool prep_pool;        // last: its threads use the rest
};

}  // namespace millrace::server
