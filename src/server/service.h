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

// The API's door: who may do what, and which route answers. Knows no sockets.
class Service final : public http::Application {
 public:
  // The observers must outlive it.
  Service(const ServiceConfig& config, Access access, std::vector<ModelEntry> models, const HostConfig& host,
          Observers& observers, Env& env);
  // How many connections there are, for /metrics. Before requests come.
  void count_connections(std::function<int()> count) { server_.connections = std::move(count); }

  std::optional<http::Reply> reject(const http::Request& head) override;
  std::unique_ptr<http::Responder> handle(http::Request request, http::Wake wake) override;
  http::Reply error(int status, std::string_view what) override;
  void finished(const http::Exchange& exchange) override { server_.journal.finished(exchange); }

  ModelHost& models() noexcept { return server_.models; }
  // Another text of the key file; any thread. See Access::reload().
  Result<void> reload_keys(std::string_view key_file) { return server_.access.reload(key_file); }

  void begin_drain() noexcept { server_.draining = true; }  // nothing new from now on
  // Returns when all requests have ended, at the latest after the time.
  void drain(double limit_ms);
  // An engine failed, or has not come round for too long.
  bool engine_failed() const { return server_.engine_failed(); }
  // Ends all requests with an error, those too whose engine never will; takes no more.
  void give_up() { server_.failure.raise(); }

 private:
  std::optional<ApiError> reject_browser(const http::Request& head) const;
  bool allows_origin(std::string_view origin) const;
  std::optional<http::Reply> find_rejection(const http::Request& head) const;
  std::unique_ptr<http::Responder> dispatch(http::Request request, http::Wake wake);
  http::Headers cors_headers(const http::Request& request) const;
  // What every reply to this request says besides.
  http::Headers common_headers(const http::Request& request);

  Env& env_;
  ServerContext server_;
};

}  // namespace millrace::server
