#pragma once

#include <string>
#include <string_view>

#include "server/api_error.h"
#include "server/route.h"

namespace millrace::server {

// The result of routing a method and a path.
struct RouteMatch {
  const Route* route = nullptr;  // null = no route
  std::string parameter;         // the part of the path that {} matched
  std::string allowed;           // methods of the path, "GET, POST"; empty = unknown path
};
RouteMatch find_route(std::string_view method, std::string_view path);

// The form of errors for a path, whether it has a route or not.
Dialect dialect_of(std::string_view path);

}  // namespace millrace::server
