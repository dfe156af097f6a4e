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
  std::string unix_socket;        // path of a Unix socket to listen on instead; "" = TCP
  std::string owner_socket;       // path of a further Unix socket, for the user who runs the server; "" = none
  std::string tls_cert, tls_key;  // PEM files; both or neither
  int threads = 1;                // IO threads, for any number of connections
  Limits limits;
};

// An HTTP/1.1 server over TCP, TLS or a Unix socket. It parses strictly and gets replies from an Application.
class Server {
 public:
  // Takes the address and reads the certificate. Clients may connect from now on; they wait until serve(). The error
  // names the flag and the address: kUnavailable and the owner where another listens there, kInvalidArgument for an
  // address that this machine does not have, kBadFile for the certificate. An owner_socket that cannot be made is
  // logged and left out.
  static Result<std::unique_ptr<Server>> listen(const ServerConfig& config);
  // Answers from now on. Once; `application` must outlive the server.
  void serve(Application& application);
  static Result<std::unique_ptr<Server>> start(const ServerConfig& config, Application& application);  // both
  ~Server();  // closes all connections

  int port() const noexcept;
  // Accepts no more connections, and removes the sockets' files. Idle ones are closed, others after their reply.
  void stop_accepting();
  int connections() const noexcept;
  // Reads certificate and key again; existing connections keep theirs.
  Result<void> reload_certificate();

 private:
  class Listener;
  explicit Server(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

}  // namespace millrace::http
