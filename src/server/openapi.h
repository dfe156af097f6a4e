#pragma once

#include <string>

#include "base/json.h"

namespace millrace::server {

// The OpenAPI 3.1 document of all routes, made from the tables that requests are validated with.
// `has_keys`: requests must show one.
Json openapi(const std::string& version, bool has_keys);

}  // namespace millrace::server
