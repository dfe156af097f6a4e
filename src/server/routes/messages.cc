#include "server/anthropic_fields.h"
#include "server/formats/messages_format.h"
#include "server/generation_handler.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

class Messages final : public GenerationRoute {
 public:
  Dialect dialect() const noexcept override { return Dialect::kAnthropic; }
  Result<void> read(const Json& body, GenerationFields& to, FieldNotes& notes) const override {
    return read_anthropic(body, false, to, notes);
  }
  Result<void> prepare(GenerationTask& task) const override {
    if (auto rendered = render_chat(task); !rendered) return rendered;
    // Clients ask for as much as the greatest model gives: here it is what fits.
    const auto room = task.model->max_length - static_cast<std::int64_t>(task.prompts[0].size());
    if (room > 0 && *task.fields.max_tokens > room) task.fields.max_tokens = room;
    return make_requests(task, RequestLimits::kMaxTokens);
  }
  std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const override { return messages_format(task); }
};

}  // namespace

Route messages() {
  return {.method = "POST",
          .path = "/v1/messages",
          .summary = "Generate the next message of a conversation (Anthropic Messages)",
          .handle = generation_route<Messages>,
          .reader = task_reader<Messages>,
          .body_schema = [] { return anthropic_schema(false).json(); },
          .streams = true,
          .anthropic_errors = true};
}

}  // namespace millrace::server::routes
