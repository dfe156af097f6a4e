#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

// What clients that tokenize by themselves ask for (lm-eval).
Route tokenizer_info() {
  return {.method = "GET",
          .path = "/tokenizer_info",
          .summary = "Special tokens and kind of the tokenizer",
          .handle = [](ServerContext& server, Call) -> std::unique_ptr<http::Responder> {
            const auto model = server.models.ready("");
            if (model == nullptr) {
              return std::make_unique<http::ReadyReply>(ApiError(server.models.absence("")).reply(Dialect::kOpenAi));
            }
            const text::Tokenizer& tokenizer = *model->tokenizer;
            const auto special = [&](std::optional<text::TokenId> id) {
              return id ? Json(std::string(tokenizer.token_text(*id))) : Json();
            };
            const Json chat_template =
                model->chat == nullptr ? Json() : Json(std::string(model->chat->default_source()));
            const Json info = {{"tokenizer_class", tokenizer.kind()},   {"vocab_size", tokenizer.vocab_size()},
                               {"bos_token", special(tokenizer.bos())}, {"eos_token", special(tokenizer.eos())},
                               {"add_bos_token", tokenizer.adds_bos()}, {"model_max_length", model->max_length},
                               {"chat_template", chat_template}};
            return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(info)});
          }};
}

}  // namespace millrace::server::routes
