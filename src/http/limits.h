#pragma once

#include <cstddef>

namespace millrace::http {

// Limits of one client. 0 does not mean "no limit" for any of them.
struct Limits {
  std::size_t header_bytes = 16 << 10, headers = 100;
  std::size_t body_bytes = 8 << 20;
  // Per address; loopback addresses only count towards `connections`.
  int connections = 10'000, connections_per_peer = 256;
  int requests_per_connection = 1'000;
  double header_seconds = 10.0;     // from the first byte of a request to the end of its head
  double body_idle_seconds = 30.0;  // between two parts of a body
  double body_bytes_per_second = 1024.0;
  double write_idle_seconds = 30.0;  // a client that reads nothing for so long is disconnected
  double keep_alive_seconds = 75.0;  // between two requests
  double stream_keep_alive_seconds = 15.0;
};

}  // namespace millrace::http
