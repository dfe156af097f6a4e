#include "server/anthropic_fields.h"
#include "server/generation_handler.h"
#include "server/prompt_reading.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

class CountTokens final : public PromptRoute {
 public:
  Result<void> read(const Json& body, GenerationFields& to, FieldNotes& notes) const override {
    return read_anthropic(body, true, to, notes);
  }
  Result<void> prepare(GenerationTask& task) const override { return render_chat(task); }
  Json answer(const GenerationTask& task) const override { return {{"input_tokens", task.prompts[0].size()}}; }
};

}  // namespace

Route messages_count_tokens() {
  return {.method = "POST",
          .path = "/v1/messages/count_tokens",
          .summary = "The tokens of a conversation, as Anthropic's API counts them",
          .handle = prompt_route<CountTokens>,
          .reader = task_reader<CountTokens>,
          .body_schema = [] { return anthropic_schema(true).json(); },
          .anthropic_errors = true};
}

}  // namespace millrace::server::routes
