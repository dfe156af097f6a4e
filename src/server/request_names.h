#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace millrace::server {

// Names of hosts and keys in the headers of a request.

// The host of an authority in lower case, without port and without the dot that ends an absolute name:
// "LocalHost.:8000" -> "localhost", "[::1]:8000" -> "[::1]".
std::string host_name(std::string_view authority);
// The authority of an origin: "https://app.example:1" -> "app.example:1". An origin without a scheme stays as it is.
// The result points into `origin`.
std::string_view after_scheme(std::string_view origin);
// Whether `host`, as host_name() gives it, is a loopback name: localhost, 127.0.0.1 or [::1].
bool is_local(std::string_view host);

// All keys of a request: values of X-Api-Key, and of Authorization what follows the scheme Bearer, in any case and
// after any spaces (RFC 9110 §11.1, §11.4). Empty keys are left out. The results point into `headers`.
std::vector<std::string_view> shown_keys(const http::Headers& headers);

}  // namespace millrace::server
