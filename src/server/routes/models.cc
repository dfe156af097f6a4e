#include "server/model_card.h"
#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

Route models() {
  return {.method = "GET",
          .path = "/v1/models",
          .scope = Scope::kNone,
          .summary = "The models served",
          .handle = [](ServerContext& server, Call call) -> std::unique_ptr<http::Responder> {
            Json data = Json::array();
            for (const ModelStatus& status : server.models.list()) {
              data.push_back(model_card(status));
              for (Json& adapter : adapter_cards(status, call.caller)) data.push_back(std::move(adapter));
            }
            const Json list = {{"object", "list"}, {"data", std::move(data)}};
            return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(list)});
          }};
}

}  // namespace millrace::server::routes
