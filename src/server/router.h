#pragma once

#include <string>
#include <string_view>

#include "server/api_error.h"
#include "server/route.h"

namespace millrace::server {

// What a method and a path lead to.
struct RouteMatch {
  const Route* route = nullptr;  // null: nowhere
  std::string parameter;         // what stands for {} in the path
  std::string allowed;           // "GET, POST": the methods that the path takes; empty: there is no such path
};
RouteMatch find_route(std::string_view method, std::string_view path);

// How errors of this path are spelled, be there a route or not.
Dialect dialect_of(std::string_view path);

}  // namespace millrace::server
