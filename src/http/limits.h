#pragma once

#include <cstddef>

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

}  // namespace millrace::http
