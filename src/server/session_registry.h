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
  std::size_t of_a_tenant = 256;
  double idle_seconds = 3600.0;  // unused sessions are closed after this
};

// Interactive sessions by their public ids. Thread-safe; calls wait for the engine, up to a step.
class SessionRegistry {
 public:
  struct Entry {
    std::shared_ptr<HostedModel> model;
    engine::SessionId session = 0;
    std::string tenant;
    TimePoint last_use{};
  };
  SessionRegistry(const SessionLimits& limits, Env& env) : limits_(limits), env_(env) {}

  // Opens a session and returns its id. kResourceExhausted if the tenant has SessionLimits::of_a_tenant sessions.
  Result<std::string> open(const std::shared_ptr<HostedModel>& model, const Caller& caller);
  // The functions below return kNotFound for an unknown id, and for a session of another tenant.
  Result<Entry> find(const std::string& id, const Caller& caller);
  Result<std::string> fork(const std::string& id, const Caller& caller);
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
