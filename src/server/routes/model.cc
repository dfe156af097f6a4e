#include <algorithm>

#include "server/model_card.h"
#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

Route model() {
  return {.method = "GET",
          .path = "/v1/models/{}",
          .scope = Scope::kNone,
          .summary = "Describe one of the models served",
          .handle = [](ServerContext& server, Call call) -> std::unique_ptr<http::Responder> {
            for (const ModelStatus& status : server.models.list()) {
              for (Json& adapter : adapter_cards(status, call.caller)) {
                if (adapter["id"] == call.parameter) {
                  return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(adapter)});
                }
              }
              const bool alias = std::ranges::find(status.aliases, call.parameter) != status.aliases.end();
              if (status.name != call.parameter && !alias) continue;
              return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(model_card(status))});
            }
            const ApiError unknown(404, "model_not_found", "model", "this server has no model of that name");
            return std::make_unique<http::ReadyReply>(unknown.reply(Dialect::kOpenAi));
          }};
}

}  // namespace millrace::server::routes
