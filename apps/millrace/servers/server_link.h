#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "http/client/http_client.h"

namespace CLI {
class App;
}

namespace millrace::app {

// How a server is reached.
struct ServerAddress {
  std::string url;        // "http://127.0.0.1:8000", also without the scheme, or with /v1 at its end
  std::string socket;     // path of a Unix socket to connect to instead; the URL is then of no weight
  std::string api_key;    // empty: none
  std::string ca_file;    // PEM file; empty: that of SSL_CERT_FILE, or the system's certificates
  bool insecure = false;  // accept any certificate
};

// The flags --api-key, --cacert and --insecure of commands that talk to a server.
void declare_server_access(CLI::App& app, ServerAddress& address);
// The certificates to trust: ca_file, or that of SSL_CERT_FILE; empty: the system's.
std::string trusted_certificates(const ServerAddress& address);
// The URL with its scheme, without path or a '/' at its end.
std::string server_root(std::string url);

// Requests to one server. Errors name its address: kUnavailable where it does not answer, kCancelled where `cancelled`
// returned true, and what the server says where it rejects: kNotFound for 404, kInvalidArgument for most 4xx, else
// kUnavailable. One thread.
class ServerLink {
 public:
  explicit ServerLink(ServerAddress address);

  using Cancelled = std::function<bool()>;  // asked at least once per second
  Result<nlohmann::json> get(const std::string& path, const Cancelled& cancelled = {});
  Result<nlohmann::json> post(const std::string& path, const nlohmann::json& body, const Cancelled& cancelled = {});
  // Posts, and calls `on_event` with the data of each server-sent event but "[DONE]"; its error ends the stream.
  // kUnavailable also where the stream ends before "[DONE]".
  Result<void> stream(const std::string& path, const nlohmann::json& body,
                      const std::function<Result<void>(const nlohmann::json& event)>& on_event,
                      const Cancelled& cancelled);
  const std::string& name() const noexcept { return name_; }  // the URL or the socket's path, for messages

 private:
  http::HttpRequest request(const std::string& path, const Cancelled& cancelled) const;
  Error failure(const http::HttpFailure& why) const;
  Result<nlohmann::json> exchange(const http::HttpRequest& request);

  const ServerAddress address_;
  std::string base_, name_;
  std::unique_ptr<http::HttpClient> client_;
};

}  // namespace millrace::app
