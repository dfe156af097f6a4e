#include "server/pooled_reply.h"

#include <algorithm>
#include <atomic>
#include <cctype>

#include "base/log.h"
#include "server/router.h"

namespace millrace::server {
namespace {

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

std::unique_ptr<http::Responder> answer_in_pool(ServerContext& server, Call call,
                                                std::function<http::Reply(ServerContext&, const Call&)> work) {
  return answer_later(server, std::move(call),
                      [work = std::move(work)](ServerContext& s, const Call& c, Answered done) { done(work(s, c)); });
}

std::unique_ptr<http::Responder> answer_later(ServerContext& server, Call call,
                                              std::function<void(ServerContext&, const Call&, Answered)> work) {
  const Dialect dialect = dialect_of(call.request.path);
  auto state = std::make_shared<PooledReply::State>();
  state->call = std::move(call);
  const bool taken = server.prep_pool.run([&server, state, work = std::move(work), dialect] {
    if (state->abandoned) return;
    const Answered answered = [state](http::Reply reply) {
      state->reply = std::move(reply);
      state->done.store(true, std::memory_order_release);
      state->call.wake();
    };
    try {
      work(server, state->call, answered);
    } catch (const std::exception& failure) {
      log::error("{}: {}", state->call.request.path, failure.what());
      answered(ApiError().reply(dialect));
    }
  });
  if (taken) return std::make_unique<PooledReply>(std::move(state));
  return std::make_unique<http::ReadyReply>(
      ApiError(429, "queue_full", "", "too many requests are waiting").reply(dialect));
}

http::Reply json_reply(const Call& call, const Result<Json>& out) {
  return out ? http::Reply{.body = dumped(*out)} : ApiError(out.error()).reply(dialect_of(call.request.path));
}

http::Reply body_reply(const ServerContext& server, const Call& call, const FieldNotes& notes,
                       const std::function<Result<void>(const Json& body)>& read,
                       const std::function<Result<Json>()>& work) {
  const auto body = parse_json(call.request.body);
  if (!body) return json_reply(call, body.error());
  if (auto fine = read(*body); !fine) return json_reply(call, fine.error());
  if (const auto rejected = reject_unknown(server.config, notes)) return rejected->reply(dialect_of(call.request.path));
  http::Reply reply = json_reply(call, work());
  add_name_list(reply, "x-ignored-params", notes.ignored, "_.");
  return reply;
}

std::optional<ApiError> reject_unknown(const ServiceConfig& config, const FieldNotes& notes) {
  if (!config.strict_params || notes.unknown == 0) return std::nullopt;
  return ApiError(400, "unknown_parameter", "", "the body has fields that this route does not know");
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
