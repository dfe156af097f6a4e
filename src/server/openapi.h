#pragma once

#include <string>

#include "base/json.h"

namespace millrace::server {

// The OpenAPI 3.1 document of all routes, made from the tables that requests are validated with. `version`
// is that of the server. `has_keys`: requests must show an API key.
Json openapi(const std::string& version, bool has_keys);

}  // namespace millrace::server
