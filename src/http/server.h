#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/message.h"

namespace millrace::http {

// What one client may cost. 0 = no limit for none of them.
struct Limits {
  std::size_t header_bytes = 16 << 10, headers = 100;
  std::size_t body_bytes = 8 << 20;
  int connections = 10'000, connections_per_peer = 256;  // of one address; loopback counts only in the first
  int requests_per_connection = 1'000;
  double header_seconds = 10.0;     // from the first byte of a request to the end of its head
  double body_idle_seconds = 30.0;  // between two pieces of a body
  double body_bytes_per_second = 1024.0;
  double write_idle_seconds = 30.0;  // a client that takes nothing for so long is cut off
  double keep_alive_seconds = 75.0;  // between two requests
  double stream_keep_alive_seconds = 15.0;
};

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
