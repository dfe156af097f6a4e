#include "server/session_registry.h"

#include <algorithm>

namespace millrace::server {

Result<std::string> SessionRegistry::open(const std::shared_ptr<HostedModel>& model, const Caller& caller) {
  forget_idle();
  const auto session = model->engine->open_session();
  if (!session) return session.error();
  return add({model, *session, caller.tenant, env_.now()});
}

// Takes the session over: where there is no room it is closed again.
Result<std::string> SessionRegistry::add(Entry entry) {
  const auto id = fmt::format("sess_{:016x}{:016x}", env_.random_seed(), env_.random_seed());
  {
    const std::lock_guard lock(mutex_);
    const auto mine = static_cast<std::size_t>(
        std::ranges::count_if(entries_, [&](const auto& other) { return other.second.tenant == entry.tenant; }));
    if (mine < limits_.of_a_tenant) {
      entries_.emplace(id, std::move(entry));
      return id;
    }
  }
  static_cast<void>(entry.model->engine->close_session(entry.session));
  return make_error(ErrorCode::kResourceExhausted, "", "{} sessions are open: that is the limit", limits_.of_a_tenant);
}

Result<SessionRegistry::Entry> SessionRegistry::find(const std::string& id, const Caller& caller) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(id);
  if (it == entries_.end() || it->second.tenant != caller.tenant) {
    return make_error(ErrorCode::kNotFound, "session_id", "there is no session of that id");
  }
  it->second.last_use = env_.now();
  return it->second;
}

Result<std::string> SessionRegistry::fork(const std::string& id, const Caller& caller) {
  auto entry = find(id, caller);
  if (!entry) return entry.error();
  auto forked = entry->model->engine->fork_session(entry->session);
  if (!forked) return forked.error();
  entry->session = *forked;
  return add(*std::move(entry));
}

Result<void> SessionRegistry::rollback(const std::string& id, const Caller& caller, std::int64_t tokens) {
  auto entry = find(id, caller);
  if (!entry) return entry.error();
  return entry->model->engine->rollback_session(entry->session, tokens);
}

Result<void> SessionRegistry::close(const std::string& id, const Caller& caller) {
  auto entry = find(id, caller);
  if (!entry) return entry.error();
  {
    const std::lock_guard lock(mutex_);
    entries_.erase(id);
  }
  return entry->model->engine->close_session(entry->session);
}

void SessionRegistry::forget_idle() {
  std::vector<Entry> old;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](auto& entry) {
      const bool idle = milliseconds_between(entry.second.last_use, env_.now()) > limits_.idle_seconds * 1000.0;
      if (idle) old.push_back(std::move(entry.second));
      return idle;
    });
  }
  for (const Entry& entry : old) {
    static_cast<void>(entry.model->engine->close_session(entry.session));
  }
}

}  // namespace millrace::server
