#include "server/openapi.h"
#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

Route openapi_document() {
  return {.method = "GET",
          .path = "/openapi.json",
          .scope = Scope::kNone,
          .summary = "This document",
          .handle = [](ServerContext& server, Call) -> std::unique_ptr<http::Responder> {
            static const std::string text = dumped(openapi(server.config.version, server.access.has_keys()));
            return std::make_unique<http::ReadyReply>(http::Reply{.body = text});
          }};
}

}  // namespace millrace::server::routes
