#include "server/anthropic_fields.h"
#include "server/generation.h"
#include "server/prompt_reading.h"
#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

Result<Json> count(Service& service, const Call& call) {
  auto body = parse_json(call.request.body);
  if (!body) return body.error();
  GenerationTask task;
  std::vector<std::string> unknown;
  if (auto fine = read_anthropic(*body, true, task.fields, unknown); !fine) return fine.error();
  task.model = service.models().ready(task.fields.model);
  if (task.model == nullptr) return service.models().absence(task.fields.model);
  task.created = unix_time();
  if (auto rendered = render_chat(task); !rendered) return rendered.error();
  return Json{{"input_tokens", task.prompts[0].size()}};
}

}  // namespace

Route messages_count_tokens() {
  return {.method = "POST",
          .path = "/v1/messages/count_tokens",
          .summary = "The tokens of a conversation, as Anthropic's API counts them",
          .handle = [](Service& service, Call call) { return answer_json<count>(service, std::move(call)); },
          .body_schema = [] { return anthropic_schema(true).json(); },
          .anthropic_errors = true};
}

}  // namespace millrace::server::routes
