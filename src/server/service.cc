#include "server/service.h"

#include <algorithm>
#include <cctype>

#include "base/lower_case.h"
#include "server/request_names.h"
#include "server/router.h"

namespace millrace::server {
namespace {

ServiceConfig with_names_in_order(ServiceConfig config) {
  for (std::string& host : config.allowed_hosts) {
    host = lower_case(host);
    if (host.ends_with('.')) host.pop_back();
  }
  for (std::string& origin : config.allowed_origins) origin = lower_case(origin);
  return config;
}

bool is_open(std::string_view path) { return path == "/health" || path == "/ready"; }

void add_missing(http::Reply& reply, const http::Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (!reply.headers.has(name)) reply.headers.add(name, value);
  }
}

// Another's reply with further headers, where it has none of that name.
class WithHeaders final : public http::Responder {
 public:
  WithHeaders(std::unique_ptr<http::Responder> inner, http::Headers headers)
      : inner_(std::move(inner)), headers_(std::move(headers)) {}
  std::optional<http::Reply> poll() override {
    auto reply = inner_->poll();
    if (reply) add_missing(*reply, headers_);
    return reply;
  }
  std::optional<http::Reply> promise() override {
    auto reply = inner_->promise();
    if (reply) add_missing(*reply, headers_);
    return reply;
  }

 private:
  std::unique_ptr<http::Responder> inner_;
  const http::Headers headers_;
};

// Types are told apart without regard to case (RFC 9110 §8.3.1).
bool is_json_type(std::string_view type) {
  return std::ranges::equal(type, std::string_view("application/json"),
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

}  // namespace

Service::Service(const ServiceConfig& config, Access access, std::vector<ModelEntry> models, const HostConfig& host,
                 Observers& observers, Env& env)
    : env_(env), server_(with_names_in_order(config), std::move(access), std::move(models), host, observers, env) {}

// Another site's page must not talk to a server on this machine: neither by a name that it pointed here, nor with the
// browser's blessing.
std::optional<ApiError> Service::reject_browser(const http::Request& head) const {
  const std::string host = host_name(head.headers.get("host"));
  const bool over_tcp = head.peer != "unix" && head.peer != http::kOwnerPeer;
  if (!server_.config.allowed_hosts.empty() && over_tcp &&
      std::ranges::find(server_.config.allowed_hosts, host) == server_.config.allowed_hosts.end()) {
    return ApiError(403, "host_not_allowed", "", "this host name is not served here: see --allowed-hosts");
  }
  const std::string origin = lower_case(head.headers.get("origin"));
  if (origin.empty() || after_scheme(origin) == lower_case(head.headers.get("host")) || allows_origin(origin)) {
    return std::nullopt;
  }
  return ApiError(403, "origin_not_allowed", "", "this origin is not allowed: see --allowed-origins");
}

bool Service::allows_origin(std::string_view origin) const {
  return std::ranges::any_of(server_.config.allowed_origins, [&](const std::string& allowed) {
    return allowed == origin || (allowed == "localhost" && is_local(host_name(after_scheme(origin))));
  });
}

http::Headers Service::cors_headers(const http::Request& request) const {
  http::Headers headers;
  const std::string_view origin = request.headers.get("origin");
  if (origin.empty() || !allows_origin(lower_case(origin))) return headers;
  headers.add("access-control-allow-origin", std::string(origin));
  headers.add("vary", "origin");
  headers.add("access-control-expose-headers", "x-request-id, x-ignored-params");
  return headers;
}

http::Headers Service::common_headers(const http::Request& request) {
  http::Headers headers = cors_headers(request);
  const std::string id = server_.request_ids.of(request);
  headers.add("x-request-id", id);
  if (dialect_of(request.path) == Dialect::kAnthropic) headers.add("request-id", id);  // where its clients look
  return headers;
}

std::optional<http::Reply> Service::reject(const http::Request& head) {
  auto rejection = find_rejection(head);
  if (rejection && rejection->status != 204) add_missing(*rejection, common_headers(head));
  return rejection;
}

Result<Caller> Service::caller_of(const http::Request& request, ApiError& rejection) const {
  if (request.peer == http::kOwnerPeer) return server_.access.owner();
  return server_.access.caller(shown_keys(request.headers), request.peer, env_.now(), rejection);
}

std::optional<http::Reply> Service::find_rejection(const http::Request& head) const {
  const Dialect dialect = dialect_of(head.path);
  if (const auto rejected = reject_browser(head)) return rejected->reply(dialect);
  if (head.method == "OPTIONS" && head.headers.has("origin")) {
    http::Reply reply{.status = 204, .headers = cors_headers(head)};
    reply.headers.add("access-control-allow-methods", "GET, POST, DELETE");
    reply.headers.add("access-control-allow-headers", "authorization, content-type, x-api-key, x-request-id");
    reply.headers.add("access-control-max-age", "600");
    return reply;
  }
  if (!is_open(head.path) && !(head.path == "/metrics" && server_.config.open_metrics)) {
    ApiError rejection;
    if (!caller_of(head, rejection)) return rejection.reply(dialect);
  }
  if (head.method == "POST") {
    std::string_view type = head.headers.get("content-type");
    type = type.substr(0, type.find(';'));
    while (type.ends_with(' ')) type.remove_suffix(1);
    const bool has_body = head.headers.has("transfer-encoding") ||
                          (head.headers.has("content-length") && head.headers.get("content-length") != "0");
    if (has_body && !is_json_type(type)) {
      return ApiError(415, "unsupported_media_type", "", "content-type must be application/json").reply(dialect);
    }
  }
  return std::nullopt;
}

std::unique_ptr<http::Responder> Service::handle(http::Request request, http::Wake wake) {
  http::Headers headers = common_headers(request);
  return std::make_unique<WithHeaders>(dispatch(std::move(request), std::move(wake)), std::move(headers));
}

std::unique_ptr<http::Responder> Service::dispatch(http::Request request, http::Wake wake) {
  const Dialect dialect = dialect_of(request.path);
  const auto reject_with = [&](const ApiError& why, const std::string& allowed = {}) {
    http::Reply reply = why.reply(dialect);
    if (!allowed.empty()) reply.headers.add("allow", allowed);
    return std::make_unique<http::ReadyReply>(std::move(reply));
  };
  RouteMatch found = find_route(request.method == "HEAD" ? "GET" : request.method, request.path);
  if (found.route == nullptr && !found.allowed.empty()) {
    return reject_with(ApiError(405, "method_not_allowed", "", "this path does not take that method"), found.allowed);
  }
  if (found.route == nullptr) return reject_with(ApiError(404, "not_found", "", "there is no such path"));
  // Who asks an open path shows no key, and that is no failed guess.
  Result<Caller> caller = Caller{};
  if (!is_open(request.path) && !(request.path == "/metrics" && server_.config.open_metrics)) {
    ApiError rejection;
    caller = caller_of(request, rejection);
    if (!caller) return reject_with(rejection);
    if (!caller->may(found.route->scope)) {
      return reject_with(ApiError(403, "scope_missing", "", "this API key does not open that path"));
    }
  }
  if (server_.draining && found.route->scope == Scope::kInfer) {
    return reject_with(ApiError(503, "shutting_down", "", "the server is shutting down"));
  }
  Call call{std::move(request), *caller, std::move(found.parameter), std::move(wake)};
  return found.route->handle(server_, std::move(call));
}

http::Reply Service::error(int status, std::string_view what) {
  const char* code = status == 408   ? "request_timeout"
                     : status == 413 ? "body_too_large"
                     : status == 431 ? "head_too_large"
                     : status == 501 ? "coding_not_implemented"
                     : status == 503 ? "overloaded"
                     : status == 505 ? "version_not_supported"
                     : status >= 500 ? "internal_error"
                                     : "bad_request";
  http::Reply reply = ApiError(status, code, "", std::string(what)).reply(Dialect::kOpenAi);
  reply.headers.add("x-request-id", server_.request_ids.of({}));
  return reply;
}

void Service::drain(double limit_ms) {
  server_.draining = true;
  server_.models.drain(limit_ms);
}

}  // namespace millrace::server
