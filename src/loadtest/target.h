#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace millrace::loadtest {

// A server with OpenAI's API, and how to reach it.
struct Target {
  std::string url;   // as given by the user
  std::string host;  // a name or an address, without brackets; "localhost" for a Unix socket
  int port = 8000;   // [1, 65535]
  bool tls = false;  // certificates are verified unless `insecure`
  bool insecure = false;
  std::string unix_socket;  // path; "" = TCP
  std::string base_path;    // precedes "/v1/...": "" or "/proxy", without a final slash
  std::vector<std::pair<std::string, std::string>> headers;  // of every request: authorization and the user's own
};

// Parses "http://127.0.0.1:8000", "https://host/base", "host:port" or "unix:/run/millrace.sock"; a trailing "/" or
// "/v1" is dropped. kInvalidArgument naming `flag` for anything else.
Result<Target> parse_target(std::string_view flag, std::string_view text);

// Whether both name the same socket, judged by their text: all names of this machine's loopback are equal. Names are
// not looked up.
bool same_server(const Target& a, const Target& b);

}  // namespace millrace::loadtest
