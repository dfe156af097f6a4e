#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/env.h"
#include "server/caller.h"
#include "server/hosted_model.h"

namespace millrace::server {

struct SessionLimits {
  std::size_t of_a_tenant = 256;  // open sessions of one tenant
  // Sessions that were not used for so long are closed when any tenant opens the next session.
  double idle_seconds = 3600.0;
};

// Interactive sessions by the ids that clients know, which are random. An open session keeps its model loaded.
// Thread-safe. Calls but find() wait for the engine, for up to a step, so IO threads must not make them.
class SessionRegistry {
 public:
  struct Entry {
    std::shared_ptr<HostedModel> model;
    engine::SessionId session = 0;
    std::string tenant;
    TimePoint last_use{};
  };
  // `env` must outlive the registry.
  SessionRegistry(const SessionLimits& limits, Env& env) : limits_(limits), env_(env) {}

  // Opens an empty session and returns its id. kResourceExhausted where the tenant has limits.of_a_tenant open
  // sessions; else the error of the engine.
  Result<std::string> open(const std::shared_ptr<HostedModel>& model, const Caller& caller);
  // The session, which then counts as used. kNotFound naming session_id for an unknown id, and for one of another
  // tenant, here and in the functions below.
  Result<Entry> find(const std::string& id, const Caller& caller);
  // Opens a session with the same tokens and returns its id. Errors as open() has them.
  Result<std::string> fork(const std::string& id, const Caller& caller);
  // Shortens the session to its first `tokens` tokens. Errors of EngineClient::rollback_session() too.
  Result<void> rollback(const std::string& id, const Caller& caller, std::int64_t tokens);
  Result<void> close(const std::string& id, const Caller& caller);

 private:
  Result<std::string> add(Entry entry);
  void forget_idle();

  const SessionLimits limits_;
  Env& env_;
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace millrace::server
