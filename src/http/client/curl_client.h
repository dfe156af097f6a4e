#pragma once

#include <memory>
#include <string>

#include "http/client/http_client.h"

namespace millrace::http {

struct HttpOptions {
  std::string user_agent = "millrace";
  std::string ca_file;       // PEM; empty = the system's
  int connect_seconds = 10;  // name, connection, TLS
  int stalled_seconds = 30;  // below 1 kB/s for so long: given up
  std::string unix_socket;   // connect there whatever the address says; "" = as it says
  bool insecure = false;     // any certificate will do
  bool proxies = true;       // as the environment names them
};

// libcurl: http and https over HTTP/1.1, IPv4 and IPv6, connections kept between requests; proxies by http_proxy,
// https_proxy, all_proxy and no_proxy as every program on the machine takes them.
std::unique_ptr<HttpClient> make_curl_client(HttpOptions options);

}  // namespace millrace::http
