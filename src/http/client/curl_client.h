#pragma once

#include <memory>
#include <string>

#include "http/client/http_client.h"

namespace millrace::http {

struct HttpOptions {
  std::string user_agent = "millrace";
  std::string ca_file;       // PEM file; empty = the system's certificates
  int connect_seconds = 10;  // limit of name lookup, connection and TLS handshake together
  int stalled_seconds = 30;  // a transfer below 1 kB/s for so long ends with kStalled; 0 = never
  std::string unix_socket;   // path to connect to instead of the URL's host; "" = none
  bool insecure = false;     // accept any certificate
  bool proxies = true;       // use the proxies that the environment names
};

// An HttpClient with libcurl: http and https over HTTP/1.1, IPv4 and IPv6. Connections are kept between requests.
// Proxies come from http_proxy, https_proxy, all_proxy and no_proxy.
std::unique_ptr<HttpClient> make_curl_client(HttpOptions options);

}  // namespace millrace::http
