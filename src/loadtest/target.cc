#include "loadtest/target.h"

#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace millrace::loadtest {
namespace {

constexpr std::string_view kHttp = "http://", kHttps = "https://", kUnix = "unix:";
constexpr int kHttpPort = 80, kHttpsPort = 443;
constexpr std::size_t kSocketPath = sizeof(sockaddr_un{}.sun_path) - 1;

template <typename... Args>
Error rejection(std::string_view flag, std::string_view text, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, std::string(flag), "{} is '{}': {}", flag, text,
                    fmt::format(format, std::forward<Args>(args)...));
}

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 1 || port > 65535) return std::nullopt;
  return port;
}

// "/proxy/v1/" -> "/proxy"
std::string base_of(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with("/v1")) path.remove_suffix(3);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

Result<Target> parse_socket(std::string_view flag, std::string_view text) {
  std::string_view path = text.substr(kUnix.size());
  if (path.starts_with("//")) path.remove_prefix(2);
  if (path.empty() || path.size() > kSocketPath) {
    return rejection(flag, text, "the path of a socket has 1 to {} bytes", kSocketPath);
  }
  Target target;
  target.url = text;
  target.host = "localhost";
  target.unix_socket = path;
  return target;
}

// "host", "host:port", "[::1]", "[::1]:port"
Result<void> parse_authority(std::string_view flag, std::string_view text, std::string_view authority, Target& target) {
  if (authority.find('@') != std::string_view::npos) {
    return rejection(flag, text, "a user in the URL is not understood, give --header \"authorization: ...\" instead");
  }
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return rejection(flag, text, "the ']' of the address is missing");
    target.host = authority.substr(1, end - 1);
    const std::string_view rest = authority.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return rejection(flag, text, "after ']' only ':' and a port may come");
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else {
    const std::size_t colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    target.host = authority.substr(0, colon);
    if (has_port) port = authority.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) return rejection(flag, text, "an IPv6 address stands in brackets");
  }
  if (target.host.empty()) return rejection(flag, text, "the host is missing");
  if (!has_port) return {};
  const auto number = parse_port(port);
  if (!number) return rejection(flag, text, "the port is '{}', expected a number from 1 to 65535", port);
  target.port = *number;
  return {};
}

// Names are the same in capitals; "localhost" and "::1" are 127.0.0.1.
std::string canonical_host(std::string host) {
  std::ranges::transform(host, host.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return host == "localhost" || host == "::1" ? "127.0.0.1" : host;
}

}  // namespace

bool same_server(const Target& a, const Target& b) {
  if (!a.unix_socket.empty() || !b.unix_socket.empty()) return a.unix_socket == b.unix_socket;
  return a.port == b.port && canonical_host(a.host) == canonical_host(b.host);
}

Result<Target> parse_target(std::string_view flag, std::string_view text) {
  if (std::ranges::any_of(text, [](unsigned char c) { return c <= ' ' || c == 0x7f; })) {
    return rejection(flag, text, "a URL holds no spaces and no control characters");
  }
  if (text.starts_with(kUnix)) return parse_socket(flag, text);
  Target target;
  target.url = text;
  std::string_view rest = text;
  if (rest.starts_with(kHttp)) {
    rest.remove_prefix(kHttp.size());
    target.port = kHttpPort;
  } else if (rest.starts_with(kHttps)) {
    rest.remove_prefix(kHttps.size());
    target.port = kHttpsPort;
    target.tls = true;
  } else if (rest.find("://") != std::string_view::npos) {
    return rejection(flag, text, "expected http://, https:// or unix:PATH");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return rejection(flag, text, "a query or fragment has no meaning here");
  }
  const std::size_t slash = rest.find('/');
  if (auto read = parse_authority(flag, text, rest.substr(0, slash), target); !read) return read.error();
  if (slash != std::string_view::npos) target.base_path = base_of(rest.substr(slash));
  return target;
}

}  // namespace millrace::loadtest
