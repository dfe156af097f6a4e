#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/limits.h"
#include "http/message.h"

namespace millrace::http {

struct ServerConfig {
  std::string host = "127.0.0.1";
  int port = 8000;                // 0 = any free one
  std::string unix_socket;        // a path: listens there instead
  std::string tls_cert, tls_key;  // PEM files; both or none
  int threads = 1;                // IO threads, whatever the number of connections
  Limits limits;
};

// HTTP/1.1 over TCP, TLS or a Unix socket: reads strictly, answers through an Application. A few threads carry any
// number of connections.
class Server {
 public:
  // Listens and serves from here on. kInvalidArgument or kResourceExhausted naming the address, kBadFile the
  // certificate.
  static Result<std::unique_ptr<Server>> start(const ServerConfig& config, Application& application);
  ~Server();  // closes all connections

  int port() const noexcept;
  // No more connections; idle ones close, others after their reply.
  void stop_accepting();
  int connections() const noexcept;
  // Reads certificate and key anew; connections that are there keep theirs.
  Result<void> reload_certificate();

 private:
  class Listener;
  explicit Server(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

}  // namespace millrace::http
