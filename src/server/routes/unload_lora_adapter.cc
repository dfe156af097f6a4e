#include "server/adapter_requests.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

Result<Json> refuse(Service&, const Call& call) { return refuse_adapter(call, unload_adapter_schema()); }

}  // namespace

Route unload_lora_adapter() {
  return {.method = "POST",
          .path = "/v1/unload_lora_adapter",
          .scope = Scope::kAdmin,
          .summary = "Unload an adapter: not yet supported, refused",
          .handle = [](Service& service, Call call) { return answer_json<refuse>(service, std::move(call)); },
          .body_schema = [] { return unload_adapter_schema().json(); }};
}

}  // namespace millrace::server::routes
