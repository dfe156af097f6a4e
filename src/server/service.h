#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "server/api_error.h"
#include "server/server_context.h"

namespace millrace::server {

// The server as an http::Application, which knows no sockets. It checks host, origin, key, scope and media type of each
// request, and hands it to its route; requests of http::kOwnerPeer need neither host nor key. Any thread may call,
// except where a function says otherwise.
class Service final : public http::Application {
 public:
  // `observers` and `env` must outlive the service.
  Service(const ServiceConfig& config, Access access, std::vector<ModelEntry> models, const HostConfig& host,
          Observers& observers, Env& env);
  // `count` returns the number of open connections, for /metrics; connections' threads call it. Set it before requests
  // come.
  void count_connections(std::function<int()> count) { server_.connections = std::move(count); }

  // The reply to a request that is rejected by its head alone, before its body is read; also answers CORS preflights.
  std::optional<http::Reply> reject(const http::Request& head) override;
  // Does not block: routes begin to answer. The key is checked here again.
  std::unique_ptr<http::Responder> handle(http::Request request, http::Wake wake) override;
  // The reply for an error that the connection found, such as 408 or 413, in OpenAI's dialect.
  http::Reply error(int status, std::string_view what) override;
  void finished(const http::Exchange& exchange) override { server_.journal.finished(exchange); }

  ModelHost& models() noexcept { return server_.models; }
  // Reads another text of the key file; see Access::reload().
  Result<void> reload_keys(std::string_view key_file) { return server_.access.reload(key_file); }

  // From this call on, routes of scope infer answer 503.
  void begin_drain() noexcept { server_.draining = true; }
  // begin_drain(), then waits until the requests of all engines have ended; see ModelHost::drain().
  void drain(double limit_ms);
  // Whether an engine has failed, or has been in one step for more than ServiceConfig::step_seconds.
  bool engine_failed() const { return server_.engine_failed(); }
  // Ends every generation request with an error, even if its engine never answers, and rejects further ones. Cannot be
  // undone.
  void give_up() { server_.failure.raise(); }

 private:
  std::optional<ApiError> reject_browser(const http::Request& head) const;
  bool allows_origin(std::string_view origin) const;
  std::optional<http::Reply> find_rejection(const http::Request& head) const;
  // The owner of the server needs no key; for all others see Access::caller().
  Result<Caller> caller_of(const http::Request& request, ApiError& rejection) const;
  std::unique_ptr<http::Responder> dispatch(http::Request request, http::Wake wake);
  http::Headers cors_headers(const http::Request& request) const;
  // Headers that every reply to this request has: CORS and request ids.
  http::Headers common_headers(const http::Request& request);

  Env& env_;
  ServerContext server_;
};

}  // namespace millrace::server
