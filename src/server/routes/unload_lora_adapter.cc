#include "server/adapter_requests.h"
#include "server/pooled_reply.h"

namespace millrace::server::routes {
Route unload_lora_adapter() {
  return {
      .method = "POST",
      .path = "/v1/unload_lora_adapter",
      .scope = Scope::kAdmin,
      .summary = "Unload a LoRA adapter; running requests keep it",
      .handle = [](ServerContext& server, Call call) { return answer_later(server, std::move(call), unload_adapter); },
      .body_schema = [] { return unload_adapter_schema().json(); },
      .reply_type = "text/plain"};
}

}  // namespace millrace::server::routes
