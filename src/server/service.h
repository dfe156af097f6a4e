#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/message.h"
#include "server/access.h"
#include "server/api_error.h"
#include "server/failure_signal.h"
#include "server/generation.h"
#include "server/model_host.h"
#include "server/observers.h"
#include "server/prep_pool.h"
#include "server/route.h"
#include "server/session_registry.h"

namespace millrace::server {

struct ServiceConfig {
  bool strict_params = false;                // unknown fields are errors, not a header
  bool keep_billing_header = false;          // Claude Code's, in prompts (billing_header.h)
  bool open_metrics = false;                 // /metrics needs no key
  bool enable_sessions = true;               // routes of interactive sessions
  std::vector<std::string> allowed_hosts;    // of the Host header; empty = any
  std::vector<std::string> allowed_origins;  // of browsers; "localhost" stands for any port of this machine
  int prep_threads = 2;
  double step_seconds = 60.0;  // an engine whose step takes longer has failed: prompts come in chunks
  std::string version;
};

// The API: who may do what, and which route answers. Knows no sockets.
class Service final : public http::Application {
 public:
  // The observers must outlive it.
  Service(const ServiceConfig& config, Access access, std::vector<ModelEntry> models, const HostConfig& host,
          Observers& observers, Env& env);
  ~Service() override;
  // How many connections there are, for /metrics. Before requests come.
  void count_connections(std::function<int()> count) { connections_ = std::move(count); }

  std::optional<http::Reply> reject(const http::Request& head) override;
  std::unique_ptr<http::Responder> handle(http::Request request, http::Wake wake) override;
  http::Reply error(int status, std::string_view what) override;
  void finished(const http::Exchange& exchange) override;

  // For routes.
  ModelHost& models() noexcept { return models_; }
  SessionRegistry& sessions() noexcept { return sessions_; }
  PrepPool& prep_pool() noexcept { return pool_; }
  const Access& access() const noexcept { return access_; }
  // Another text of the key file; any thread. See Access::reload().
  Result<void> reload_keys(std::string_view key_file) { return access_.reload(key_file); }
  const ServiceConfig& config() const noexcept { return config_; }
  // --strict-params: a body with unknown fields is rejected. Those that are known and do no harm are not.
  std::optional<ApiError> reject_unknown(const FieldNotes& notes) const;
  // Puts the header back where it is to be kept, else says once in the log that it is not.
  void settle_billing_header(GenerationFields& fields);
  // The client's X-Request-Id where it is one, else a new one.
  std::string request_id(const http::Request& request);
  // How many there are now. Connections' threads only: it may be asked as long as there are any.
  std::int64_t connections() const { return connections_ ? connections_() : 0; }
  std::string metrics_text(std::int64_t connections);
  // A request to a model has ended, one way or another.
  void finished(const GenerationTask& task, const std::vector<Answer>& answers, const std::optional<ApiError>& error);

  void begin_drain() noexcept { draining_ = true; }  // nothing new from now on
  // Returns when all requests have ended, at the latest after the time.
  void drain(double limit_ms);
  bool draining() const noexcept { return draining_; }
  // An engine failed, or has not come round for too long.
  bool engine_failed();
  // Ends all requests with an error, those too whose engine never will; takes no more.
  void give_up() { failure_.raise(); }
  FailureSignal& failure() noexcept { return failure_; }

 private:
  const Route* find(std::string_view method, std::string_view path, std::string& parameter, std::string& allowed) const;
  std::optional<ApiError> reject_browser(const http::Request& head) const;
  bool allows_origin(std::string_view origin) const;
  std::optional<http::Reply> find_rejection(const http::Request& head) const;
  std::unique_ptr<http::Responder> dispatch(http::Request request, http::Wake wake);
  http::Headers cors_headers(const http::Request& request) const;
  // What every reply to this request says besides.
  http::Headers common_headers(const http::Request& request);

  const ServiceConfig config_;
  Access access_;
  Observers& observers_;
  Env& env_;
  std::function<int()> connections_;
  std::atomic<bool> draining_ = false;
  std::once_flag billing_header_said_;
  std::atomic<std::uint64_t> next_id_;
  FailureSignal failure_;
  ModelHost models_;
  SessionRegistry sessions_;  // whose models it holds
  PrepPool pool_;             // last: its threads use the rest
};

// A reply made by `work` on the prep pool: for what may take milliseconds, or asks the engine.
std::unique_ptr<http::Responder> answer_in_pool(Service& service, Call call,
                                                std::function<http::Reply(Service& service, const Call& call)> work);
// Errors are spelled as the route's API has it.
http::Reply json_reply(const Call& call, const Result<Json>& out);
// The same for a body: parsed, given to `read`, which fills `notes`, and answered by `work` unless it is refused.
http::Reply body_reply(const Service& service, const Call& call, const FieldNotes& notes,
                       const std::function<Result<void>(const Json& body)>& read,
                       const std::function<Result<Json>()>& work);
// A header that lists those of the names that are letters, digits and `others`: the client chose them.
void add_name_list(http::Reply& reply, const char* header, const std::vector<std::string>& names,
                   std::string_view others);

// json_reply() in the pool, for a function that makes the object.
template <Result<Json> (*kWork)(Service&, const Call&)>
std::unique_ptr<http::Responder> answer_json(Service& service, Call call) {
  return answer_in_pool(service, std::move(call), [](Service& s, const Call& c) { return json_reply(c, kWork(s, c)); });
}

// body_reply() in the pool, for one that makes it from the fields of a schema. An empty body: no fields, where they are
// optional.
enum class Body { kNeeded, kOptional };
template <typename Fields>
std::unique_ptr<http::Responder> answer_fields(Service& service, Call call, const Schema<Fields>& schema,
                                               Result<Json> (*work)(Service&, const Call&, const Fields&),
                                               Body body = Body::kNeeded) {
  return answer_in_pool(service, std::move(call), [&schema, work, body](Service& s, const Call& c) {
    Fields fields;
    FieldNotes notes;
    if (body == Body::kOptional && c.request.body.empty()) return json_reply(c, work(s, c, fields));
    return body_reply(
        s, c, notes, [&](const Json& json) { return schema.read(json, fields, notes); },
        [&] { return work(s, c, fields); });
  });
}

}  // namespace millrace::server
