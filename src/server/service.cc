#include "server/service.h"

#include <algorithm>
#include <cctype>

#include "base/log.h"
#include "base/lower_case.h"
#include "server/request_names.h"

namespace millrace::server {
namespace {

constexpr std::size_t kIdBytes = 128;
constexpr double kSlowStepMs = 2'000.0;  // a reader of metrics does not wait for such an engine

ServiceConfig with_names_in_order(ServiceConfig config) {
  for (std::string& host : config.allowed_hosts) {
    host = lower_case(host);
    if (host.ends_with('.')) host.pop_back();
  }
  for (std::string& origin : config.allowed_origins) origin = lower_case(origin);
  return config;
}

bool plain_id(std::string_view id) {
  return !id.empty() && id.size() <= kIdBytes && std::ranges::all_of(id, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// One `{}` stands for anything that is not empty.
bool matches(std::string_view pattern, std::string_view path, std::string& parameter) {
  const std::size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, hole), after = pattern.substr(hole + 2);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) return false;
  parameter = path.substr(before.size(), path.size() - before.size() - after.size());
  return true;
}

bool is_open(std::string_view path) { return path == "/health" || path == "/ready"; }

Dialect dialect_of(std::string_view path) {
  return path.starts_with("/v1/messages") ? Dialect::kAnthropic : Dialect::kOpenAi;
}

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

class PooledReply final : public http::Responder {
 public:
  struct State {
    Call call;
    http::Reply reply;
    std::atomic<bool> done = false, abandoned = false;
  };
  explicit PooledReply(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~PooledReply() override { state_->abandoned = true; }
  std::optional<http::Reply> poll() override {
    if (!state_->done.load(std::memory_order_acquire)) return std::nullopt;
    return std::move(state_->reply);
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace

Service::Service(const ServiceConfig& config, Access access, std::vector<ModelEntry> models, const HostConfig& host,
                 Observers& observers, Env& env)
    : config_(with_names_in_order(config)),
      access_(std::move(access)),
      observers_(observers),
      env_(env),
      next_id_(env.random_seed()),
      models_(std::move(models), host, env),
      sessions_({}, env),
      pool_(config.prep_threads) {}

// The loading thread hands requests to the pool, whose threads ask for models: it ends while both are there.
Service::~Service() { models_.stop(); }

// Another site's page must not talk to a server on this machine: neither by a name that it pointed here, nor with the
// browser's blessing.
std::optional<ApiError> Service::reject_browser(const http::Request& head) const {
  const std::string host = host_name(head.headers.get("host"));
  if (!config_.allowed_hosts.empty() && head.peer != "unix" &&
      std::ranges::find(config_.allowed_hosts, host) == config_.allowed_hosts.end()) {
    return ApiError(403, "host_not_allowed", "", "this host name is not served here: see --allowed-hosts");
  }
  const std::string origin = lower_case(head.headers.get("origin"));
  if (origin.empty() || after_scheme(origin) == lower_case(head.headers.get("host")) || allows_origin(origin)) {
    return std::nullopt;
  }
  return ApiError(403, "origin_not_allowed", "", "this origin is not allowed: see --allowed-origins");
}

bool Service::allows_origin(std::string_view origin) const {
  return std::ranges::any_of(config_.allowed_origins, [&](const std::string& allowed) {
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
  const std::string id = request_id(request);
  headers.add("x-request-id", id);
  if (dialect_of(request.path) == Dialect::kAnthropic) headers.add("request-id", id);  // where its clients look
  return headers;
}

std::optional<http::Reply> Service::reject(const http::Request& head) {
  auto rejection = find_rejection(head);
  if (rejection && rejection->status != 204) add_missing(*rejection, common_headers(head));
  return rejection;
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
  if (!is_open(head.path) && !(head.path == "/metrics" && config_.open_metrics)) {
    ApiError rejection;
    const auto caller = access_.caller(shown_keys(head.headers), head.peer, env_.now(), rejection);
    if (!caller) return rejection.reply(dialect);
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

const Route* Service::find(std::string_view method, std::string_view path, std::string& parameter,
                           std::string& allowed) const {
  const Route* found = nullptr;
  bool exact = false;
  for (const Route& route : all_routes()) {
    std::string value;
    if (!matches(route.path, path, value)) continue;
    if (allowed.find(route.method) == std::string::npos)
      allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
    const bool plain = route.path.find("{}") == std::string_view::npos;
    if (route.method != method || (exact && !plain)) continue;
    // Of two patterns the one that says more: "/v1/sessions/{}/fork" before "/v1/sessions/{}".
    if (found != nullptr && !plain && route.path.size() < found->path.size()) continue;
    found = &route;
    exact = plain;
    parameter = std::move(value);
  }
  return found;
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
  std::string parameter, allowed;
  const Route* route = find(request.method == "HEAD" ? "GET" : request.method, request.path, parameter, allowed);
  if (route == nullptr && !allowed.empty()) {
    return reject_with(ApiError(405, "method_not_allowed", "", "this path does not take that method"), allowed);
  }
  if (route == nullptr) return reject_with(ApiError(404, "not_found", "", "there is no such path"));
  // Who asks an open path shows no key, and that is no failed guess.
  Result<Caller> caller = Caller{};
  if (!is_open(request.path) && !(request.path == "/metrics" && config_.open_metrics)) {
    ApiError rejection;
    caller = access_.caller(shown_keys(request.headers), request.peer, env_.now(), rejection);
    if (!caller) return reject_with(rejection);
    if (!caller->may(route->scope)) {
      return reject_with(ApiError(403, "scope_missing", "", "this API key does not open that path"));
    }
  }
  if (draining_ && route->scope == Scope::kInfer) {
    return reject_with(ApiError(503, "shutting_down", "", "the server is shutting down"));
  }
  Call call{std::move(request), *caller, std::move(parameter), std::move(wake)};
  if (route->generation != nullptr) return generate(*this, route->generation(), std::move(call));
  if (route->prompt != nullptr) return answer_prompt(*this, route->prompt(), std::move(call));
  return route->handle(*this, std::move(call));
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
  reply.headers.add("x-request-id", request_id({}));
  return reply;
}

void Service::finished(const http::Exchange& exchange) {
  std::string parameter, allowed;
  const Route* route = find(exchange.method, exchange.path, parameter, allowed);
  observers_.metrics().http(exchange, route == nullptr ? "" : route->path);
  if (exchange.status == 401) observers_.metrics().auth_failure();
  if (exchange.status == 429) observers_.metrics().rejected("capacity");
  if (exchange.rejection.empty()) return;
  const auto spent = std::chrono::duration<double>(exchange.seconds);
  observe::RequestRecord record;
  record.route = route == nullptr ? "none" : std::string(route->path);
  record.request_id = exchange.request_id;
  record.status = exchange.status;
  record.error_code = exchange.rejection;
  record.finished = env_.now();
  record.received = record.finished - std::chrono::duration_cast<Clock::duration>(spent);
  observers_.rejection(record);
}

void Service::finished(const GenerationTask& task, const std::vector<Answer>& answers,
                       const std::optional<ApiError>& error) {
  observe::RequestRecord record;
  record.model = task.model->name;
  record.route = task.route;
  record.tenant = task.caller.tenant;
  record.request_id = task.request_id;
  record.trace_parent = task.trace_parent;
  record.n = task.fields.n;
  record.priority = task.fields.priority;
  if (!task.sampling.empty()) {
    record.max_tokens = task.sampling[0].max_tokens;
    record.temperature = task.sampling[0].temperature;
    record.top_p = task.sampling[0].top_p;
  }
  record.received = task.received;
  record.finished = env_.now();
  bool all = true;
  for (const Answer& answer : answers) {
    if (answer.engine_request != 0) record.engine_request = answer.engine_request;
    if (answer.finish == engine::FinishReason::kNone) {
      all = false;
    } else {
      record.answers.push_back({answer.stats, answer.spent, answer.finish});
    }
  }
  record.status = error ? error->status : all ? 200 : 499;
  if (error) record.error_code = error->code;
  observers_.request(record);
}

std::string Service::metrics_text(std::int64_t connections) {
  observe::Snapshot snapshot{.connections = connections};
  for (const ModelStatus& status : models_.list()) {
    if (status.model == nullptr) continue;
    const engine::Heartbeat beat = status.model->engine->heartbeat();
    observe::EngineSnapshot now{.model = status.name,
                                .alive = beat.alive,
                                .last_step_age_seconds = beat.last_step_age_ms / 1000.0,
                                .running = beat.running,
                                .waiting = beat.waiting,
                                .paused = beat.paused};
    if (beat.alive && beat.last_step_age_ms < kSlowStepMs) {
      if (const auto use = status.model->engine->page_use()) {
        now.pages = use->pages;
        now.kv_extents = use->extents;
      }
    }
    snapshot.engines.push_back(std::move(now));
  }
  return observers_.text(std::move(snapshot));
}

std::string Service::request_id(const http::Request& request) {
  const std::string_view given = request.headers.get("x-request-id");
  if (plain_id(given)) return std::string(given);
  std::uint64_t x = next_id_.fetch_add(0x9e3779b97f4a7c15u);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;  // splitmix64: no two alike, none to be guessed from the last by eye
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return fmt::format("{:016x}", x ^ (x >> 31));
}

std::optional<ApiError> Service::reject_unknown(const FieldNotes& notes) const {
  if (!config_.strict_params || notes.unknown == 0) return std::nullopt;
  return ApiError(400, "unknown_parameter", "", "the body has fields that this route does not know");
}

void Service::settle_billing_header(GenerationFields& fields) {
  if (fields.billing_header.empty()) return;
  if (config_.keep_billing_header) {
    fields.system.insert(0, fields.billing_header);
    return;
  }
  std::call_once(billing_header_said_, [] {
    log::info(
        "x-anthropic-billing-header is kept out of system prompts: it changes with each turn, and nothing after it "
        "would be found in the cache (--keep-billing-header leaves it in)");
  });
}

void Service::drain(double limit_ms) {
  draining_ = true;
  models_.drain(limit_ms);
}

bool Service::engine_failed() {
  for (const ModelStatus& status : models_.list()) {
    if (status.model == nullptr) continue;
    const engine::Heartbeat beat = status.model->engine->heartbeat();
    if (!beat.alive || beat.last_step_age_ms > config_.step_seconds * 1e3) return true;
  }
  return false;
}

std::unique_ptr<http::Responder> answer_in_pool(Service& service, Call call,
                                                std::function<http::Reply(Service&, const Call&)> work) {
  const Dialect dialect = dialect_of(call.request.path);
  auto state = std::make_shared<PooledReply::State>();
  state->call = std::move(call);
  const bool taken = service.prep_pool().run([&service, state, work = std::move(work), dialect] {
    if (state->abandoned) return;
    try {
      state->reply = work(service, state->call);
    } catch (const std::exception& failure) {
      log::error("{}: {}", state->call.request.path, failure.what());
      state->reply = ApiError().reply(dialect);
    }
    state->done.store(true, std::memory_order_release);
    state->call.wake();
  });
  if (taken) return std::make_unique<PooledReply>(std::move(state));
  return std::make_unique<http::ReadyReply>(
      ApiError(429, "queue_full", "", "too many requests are waiting").reply(dialect));
}

http::Reply json_reply(const Call& call, const Result<Json>& out) {
  return out ? http::Reply{.body = dumped(*out)} : ApiError(out.error()).reply(dialect_of(call.request.path));
}

http::Reply body_reply(const Service& service, const Call& call, const FieldNotes& notes,
                       const std::function<Result<void>(const Json& body)>& read,
                       const std::function<Result<Json>()>& work) {
  const auto body = parse_json(call.request.body);
  if (!body) return json_reply(call, body.error());
  if (auto fine = read(*body); !fine) return json_reply(call, fine.error());
  if (const auto rejected = service.reject_unknown(notes)) return rejected->reply(dialect_of(call.request.path));
  http::Reply reply = json_reply(call, work());
  add_name_list(reply, "x-ignored-params", notes.ignored, "_.");
  return reply;
}

void add_name_list(http::Reply& reply, const char* header, const std::vector<std::string>& names,
                   std::string_view others) {
  std::string list;
  for (const std::string& name : names) {
    const bool plain = std::ranges::all_of(name, [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || others.find(c) != std::string_view::npos;
    });
    if (!plain || name.size() > 256 || list.size() > 1024) continue;
    list += (list.empty() ? "" : ", ") + name;
  }
  if (!list.empty()) reply.headers.add(header, list);
}

}  // namespace millrace::server
