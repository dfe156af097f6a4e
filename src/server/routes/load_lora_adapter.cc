#include "server/adapter_requests.h"
#include "server/service.h"

namespace millrace::server::routes {
Route load_lora_adapter() {
  return {.method = "POST",
          .path = "/v1/load_lora_adapter",
          .scope = Scope::kAdmin,
          .summary = "Load a LoRA adapter: not supported yet, rejected",
          .handle =
              [](Service& service, Call call) {
                return answer_fields(service, std::move(call), load_adapter_schema(), reject_adapter);
              },
          .body_schema = [] { return load_adapter_schema().json(); }};
}

}  // namespace millrace::server::routes
