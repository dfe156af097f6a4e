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

// The HTTP API: checks who may do what, and passes requests to routes. Independent of sockets. Thread-safe.
class Service final : public http::Application {
 public:
  // The observers must outlive this object.
  Service(const ServiceConfig& config, Access access, std::vector<ModelEntry> models, const HostConfig& host,
          Observers& observers, Env& env);
  // Sets the function that counts connections, for /metrics. Call it before the first request.
  void count_connections(std::function<int()> count) { server_.connections = std::move(count); }

  std::optional<http::Reply> reject(const http::Request& head) override;
  std::unique_ptr<http::Responder> handle(http::Request request, http::Wake wake) override;
  http::Reply error(int status, std::string_view what) override;
  void finished(const http::Exchange& exchange) override { server_.journal.finished(exchange); }

  ModelHost& models() noexcept { return server_.models; }
  // Replaces the key file's text: Access::reload(). Any thread.
  Result<void> reload_keys(std::string_view key_file) { return server_.access.reload(key_file); }

  void begin_drain() noexcept { server_.draining = true; }  // new requests are rejected
  // Returns when all requests have ended, after limit_ms at the latest.
  void drain(double limit_ms);
  // Whether an engine has failed, or has been in one step for longer than step_seconds.
  bool engine_failed() const { return server_.engine_failed(); }
  // Ends all requests with an error without waiting for their engines, and rejects new ones.
  void give_up() { server_.failure.raise(); }

 private:
  std::optional<ApiError> reject_browser(const http::Request& head) const;
  bool allows_origin(std::string_view origin) const;
  std::optional<http::Reply> find_rejection(const http::Request& head) const;
  std::unique_ptr<http::Responder> dispatch(http::Request request, http::Wake wake);
  http::Headers cors_headers(const http::Request& request) const;
  // The headers that every reply to this request has.
  http::Headers common_headers(const http::Request& request);

  Env& env_;
  ServerContext server_;
};

}  // namespace millrace::server
