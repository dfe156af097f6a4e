#include "server/adapter_requests.h"
#include "server/pooled_reply.h"

namespace millrace::server::routes {
Route load_lora_adapter() {
  return {
      .method = "POST",
      .path = "/v1/load_lora_adapter",
      .scope = Scope::kAdmin,
      .summary = "Load a LoRA adapter of the directory that the server was started with, --lora-dir",
      .handle = [](ServerContext& server, Call call) { return answer_later(server, std::move(call), load_adapter); },
      .body_schema = [] { return load_adapter_schema().json(); },
      .reply_type = "text/plain"};
}

}  // namespace millrace::server::routes
