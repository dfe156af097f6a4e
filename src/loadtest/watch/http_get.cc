#include "loadtest/watch/http_get.h"

#include <fmt/core.h>

#include "http/client/curl_client.h"
#include "http/client/text_sink.h"

namespace millrace::loadtest {
namespace {

constexpr std::uint64_t kMaxBytes = 64 << 20;
constexpr int kSeconds = 5;

}  // namespace

Getter::Getter(const Target& target)
    : target_(target),
      client_(http::make_curl_client({.user_agent = "millrace-bench",
                                      .ca_file = {},
                                      .connect_seconds = kSeconds,
                                      .stalled_seconds = kSeconds,
                                      .unix_socket = target.unix_socket,
                                      .insecure = target.insecure,
                                      .proxies = false})) {}

Result<std::string> Getter::get(std::string_view path) {
  const bool v6 = target_.host.find(':') != std::string::npos;
  http::HttpRequest request;
  request.url = fmt::format("{}://{}{}{}:{}{}{}", target_.tls ? "https" : "http", v6 ? "[" : "", target_.host,
                            v6 ? "]" : "", target_.port, path.starts_with("/v1/") ? target_.base_path : "", path);
  for (const auto& [name, value] : target_.headers) request.headers.add(name, value);
  http::TextSink body(kMaxBytes);
  const auto outcome = client_->exchange(request, body);
  if (const auto* failure = std::get_if<http::HttpFailure>(&outcome)) {
    return make_error(ErrorCode::kUnavailable, "url", "{}: {}", request.url, failure->message);
  }
  if (const int status = std::get<http::HttpResponse>(outcome).status; status != 200) {
    return make_error(status == 404 ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "url", "{}: status {}",
                      request.url, status);
  }
  return body.take();
}

}  // namespace millrace::loadtest
