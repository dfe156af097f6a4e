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

// The parts of a server that routes use. Every part is thread-safe.
struct ServerContext {
  // The observers must outlive this object.
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
  // Ends the loading thread first: it passes requests to the prep pool, whose threads ask for models.
  ~ServerContext() { models.stop(); }
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  // Whether an engine has failed, or has been in one step for longer than step_seconds.
  bool engine_failed() const { return models.engine_failed(config.step_seconds * 1e3); }

  const ServiceConfig config;
  Access access;
  RequestJournal journal;
  RequestIds request_ids;
  BillingHeaders billing_headers;
  FailureSignal failure;               // raised when the server gives up
  std::atomic<bool> draining = false;  // new requests are rejected
  std::function<int()> connections;    // number of connections; called on IO threads alone; may be empty
  ModelHost models;
  SessionRegistry sessions;  // after `models`: it holds references to them
  PrepPool prep_pool;        // last: its threads use the other members
};

}  // namespace millrace::server
