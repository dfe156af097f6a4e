#pragma once

#include <string>

#include "base/json.h"

namespace millrace::server {

// The OpenAPI 3.1 document of all routes, made from the schemas that validate requests. `has_keys`: requests need a
// key.
Json openapi(const std::string& version, bool has_keys);

}  // namespace millrace::server
