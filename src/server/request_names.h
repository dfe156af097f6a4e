#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace millrace::server {

// Reads host names, origins and keys from request headers.

// "LocalHost.:8000" -> "localhost", "[::1]:8000" -> "[::1]": without port and the dot that ends an absolute name.
std::string host_name(std::string_view authority);
// "https://app.example:1" -> "app.example:1"
std::string_view after_scheme(std::string_view origin);
// A name of this machine's loopback, as host_name() gives it.
bool is_local(std::string_view host);

// All keys of a request: X-Api-Key, and the credentials of the scheme Bearer, in any case and after any spaces (RFC
// 9110 §11.1, §11.4). The views point into `headers`.
std::vector<std::string_view> shown_keys(const http::Headers& headers);

}  // namespace millrace::server
