#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

Route requests() {
  return {.method = "GET",
          .path = "/v1/requests",
          .scope = Scope::kMetrics,
          .summary = "The generation requests that are running now, without prompts and completions",
          .handle = [](ServerContext& server, Call) -> std::unique_ptr<http::Responder> {
            constexpr std::size_t kMax = 1000;  // of the oldest
            const TimePoint now = Env::system().now();
            Json data = Json::array();
            const std::vector<RunningRequest> all = server.running.list();
            for (const RunningRequest& one : all) {
              if (data.size() == kMax) break;
              data.push_back({{"id", one.id},
                              {"object", "request"},
                              {"route", one.route},
                              {"model", one.model.empty() ? Json() : Json(one.model)},
                              {"tenant", one.tenant.empty() ? Json() : Json(one.tenant)},
                              {"age_ms", milliseconds_between(one.received, now)},
                              {"state", one.output_tokens > 0 ? "answering" : "waiting"},
                              {"prompt_tokens", one.prompt_tokens},
                              {"output_tokens", one.output_tokens}});
            }
            const Json list = {{"object", "list"}, {"total", all.size()}, {"data", std::move(data)}};
            return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(list)});
          }};
}

}  // namespace millrace::server::routes
