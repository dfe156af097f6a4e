#pragma once

#include <string>
#include <string_view>

#include "server/api_error.h"
#include "server/route.h"

namespace millrace::server {

// The route for a method and a path.
struct RouteMatch {
  const Route* route = nullptr;  // null: there is none
  std::string parameter;         // what the path has in the place of the route's {}; "" without one
  std::string allowed;           // the methods that the path takes, as "GET, POST"; empty: there is no such path
};
// The route of a method and a path. Among routes that match, one without {} comes first, then the one with the longest
// path. `path` is as sent, without the query, and is not decoded. HEAD is not read as GET. Any thread; O(routes).
RouteMatch find_route(std::string_view method, std::string_view path);

// The dialect of errors for this path, whether it has a route or not: kAnthropic below /v1/messages, else kOpenAi.
Dialect dialect_of(std::string_view path);

}  // namespace millrace::server
