#pragma once

#include <optional>
#include <string>

namespace millrace::http {

// A process that listens on a socket.
struct SocketOwner {
  int pid = 0;
  std::string command;  // its name as the kernel knows it, at most 15 bytes; any bytes but 0 and '\n'
};

// The process that listens on a TCP port of this machine at `address` ("127.0.0.1", "::"), or at all addresses. Nothing
// where /proc does not show it, which is so for processes of other users unless this one is root. Any thread.
std::optional<SocketOwner> tcp_owner(const std::string& address, int port);
// The process that listens on the Unix socket of this path.
std::optional<SocketOwner> unix_owner(const std::string& path);

}  // namespace millrace::http
