#include "server/router.h"

#include <utility>

namespace millrace::server {
namespace {

// One `{}` stands for anything that is not empty.
bool matches(std::string_view pattern, std::string_view path, std::string& parameter) {
  const std::size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, hole), after = pattern.substr(hole + 2);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) return false;
  parameter = path.substr(before.size(), path.size() - before.size() - after.size());
  return true;
}

}  // namespace

RouteMatch find_route(std::string_view method, std::string_view path) {
  RouteMatch found;
  bool exact = false;
  for (const Route& route : all_routes()) {
    std::string value;
    if (!matches(route.path, path, value)) continue;
    if (found.allowed.find(route.method) == std::string::npos) {
      found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
    }
    const bool plain = route.path.find("{}") == std::string_view::npos;
    if (route.method != method || (exact && !plain)) continue;
    // Of two patterns the one that says more: "/v1/sessions/{}/fork" before "/v1/sessions/{}".
    if (found.route != nullptr && !plain && route.path.size() < found.route->path.size()) continue;
    found.route = &route;
    exact = plain;
    found.parameter = std::move(value);
  }
  return found;
}

Dialect dialect_of(std::string_view path) {
  return path.starts_with("/v1/messages") ? Dialect::kAnthropic : Dialect::kOpenAi;
}

}  // namespace millrace::server
