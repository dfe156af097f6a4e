#include "server/openapi.h"
#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {

Route openapi_document() {
  return {.method = "GET",
          .path = "/openapi.json",
          .scope = Scope::kNone,
          .summary = "This document",
          .handle = [](Service& service, Call) -> std::unique_ptr<http::Responder> {
            static const std::string text = dumped(openapi(service.config().version, service.access().has_keys()));
            return std::make_unique<http::ReadyReply>(http::Reply{.body = text});
          }};
}

}  // namespace millrace::server::routes
