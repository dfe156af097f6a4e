#include "server/request_names.h"

#include <algorithm>
#include <cctype>

#include "base/lower_case.h"

namespace millrace::server {

std::string host_name(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string name = lower_case(authority.substr(0, colon));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

std::string_view after_scheme(std::string_view origin) {
  const std::size_t mark = origin.find("://");
  return mark == std::string_view::npos ? origin : origin.substr(mark + 3);
}

bool is_local(std::string_view host) { return host == "localhost" || host == "127.0.0.1" || host == "[::1]"; }

std::vector<std::string_view> shown_keys(const http::Headers& headers) {
  std::vector<std::string_view> keys;
  for (const auto& [name, value] : headers) {
    std::string_view key = value;
    if (name == "authorization") {
      const std::size_t space = std::min(key.find(' '), key.size());
      if (lower_case(key.substr(0, space)) != "bearer") continue;
      key.remove_prefix(std::min(key.find_first_not_of(' ', space), key.size()));
    } else if (name != "x-api-key") {
      continue;
    }
    if (!key.empty()) keys.push_back(key);
  }
  return keys;
}

}  // namespace millrace::server
