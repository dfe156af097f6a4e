#include "http/request_head.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

namespace millrace::http {
namespace {

constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kTokenMarks.find(c) != std::string_view::npos;
  });
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// "[::1]"
bool is_literal(std::string_view text) {
  in6_addr address{};
  return text.size() > 2 && text.ends_with(']') &&
         inet_pton(AF_INET6, std::string(text.substr(1, text.size() - 2)).c_str(), &address) == 1;
}

// A registered name or an IPv4 address, without the marks that no name on a network has (RFC 3986's sub-delims).
bool is_name(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && is_hex(text[i + 1]) && is_hex(text[i + 2]);
    const bool plain = std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                       std::string_view("-._~").find(text[i]) != std::string_view::npos;
    if (!escape && !plain) return false;
  }
  return !text.empty();
}

// Digits, or none behind the colon.
bool is_port(std::string_view text) {
  if (text.size() > 5 || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) return false;
  int port = 0;
  std::from_chars(text.data(), text.data() + text.size(), port);
  return port <= 65535;
}

// "GET /path HTTP/1.1"
HeadProblem check_request_line(std::string_view line, bool& old) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !is_token(line.substr(0, first))) {
    return {400, "the request line is malformed"};
  }
  const std::string_view version = line.substr(last + 1), target = line.substr(first + 1, last - first - 1);
  if (!version.starts_with("HTTP/1.")) return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  old = version == "HTTP/1.0";
  const bool printable = std::ranges::all_of(target, [](char c) { return c > ' ' && c != 0x7f; });
  if (!target.starts_with('/') || !printable || target.find('#') != std::string_view::npos) {
    return {400, "the target must be a path"};
  }
  return {};
}

// What of the fields seen so far bears on where the body ends, and whom it is for.
struct Framing {
  int lengths = 0, codings = 0, hosts = 0;
  bool empty_host = false;
};

HeadProblem check_field(std::string_view line, Framing& framing) {
  if (line.front() == ' ' || line.front() == '\t') return {400, "folded header lines are not accepted"};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return {400, "a header is malformed"};
  const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (has_control(value)) return {400, "a header holds a control character"};
  if (equal_ignoring_case(name, "host")) {
    ++framing.hosts;
    framing.empty_host = value.empty();
    if (!value.empty() && !is_authority(value)) return {400, "host is not a name with or without a port"};
  }
  if (equal_ignoring_case(name, "content-length")) {
    ++framing.lengths;
    const bool digits = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    if (value.empty() || value.size() > 18 || !digits) return {400, "content-length is not a number"};
  }
  if (equal_ignoring_case(name, "transfer-encoding")) {
    ++framing.codings;
    if (!equal_ignoring_case(value, "chunked")) return {501, "transfer-encoding must be chunked"};
  }
  return {};
}

}  // namespace

bool is_authority(std::string_view host) {
  const bool literal = host.starts_with('[');
  const std::size_t bracket = literal ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = std::min(host.find(':', bracket), host.size());
  const std::string_view name = host.substr(0, colon), port = host.substr(std::min(colon + 1, host.size()));
  return (literal ? is_literal(name) : is_name(name)) && is_port(port);
}

HeadProblem check_head(std::string_view head, const Limits& limits) {
  bool old = false;
  Framing framing;
  std::size_t fields = 0;
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = head.find('\n', at);
    if (end == std::string_view::npos || end == at || head[end - 1] != '\r') {
      return {400, "lines must end with CR LF"};
    }
    const std::string_view line = head.substr(at, end - 1 - at);
    if (line.find('\r') != std::string_view::npos) return {400, "lines must end with CR LF"};
    const bool first = at == 0;
    at = end + 1;
    if (line.empty()) {
      if (first) return {400, "the request line is missing"};
      break;
    }
    if (!first && ++fields > limits.headers) return {431, "too many headers"};
    const HeadProblem problem = first ? check_request_line(line, old) : check_field(line, framing);
    if (problem.status != 0) return problem;
  }
  if (framing.lengths > 1) return {400, "content-length came more than once"};
  if (framing.codings > 1) return {400, "transfer-encoding came more than once"};
  if (framing.lengths > 0 && framing.codings > 0)
    return {400, "content-length and transfer-encoding exclude each other"};
  if (framing.codings > 0 && old) return {400, "HTTP/1.0 has no transfer-encoding"};
  if (framing.hosts > 1 || (framing.hosts == 0 && !old)) return {400, "exactly one host header is needed"};
  if (framing.empty_host && !old) return {400, "host is empty"};
  return {};
}

}  // namespace millrace::http
