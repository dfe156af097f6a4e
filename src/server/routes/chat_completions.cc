#include "server/constraint_fields.h"
#include "server/formats/chat_format.h"
#include "server/generation_handler.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/route.h"
#include "server/tool_fields.h"

namespace millrace::server::routes {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

const GenerationSchema& chat_completions_schema() {
  static const GenerationSchema made = [] {
    GenerationSchema s;
    add_chat_prompt_fields(s);
    const auto max_tokens = [](Fields& f) -> auto& { return f.max_tokens; };
    s.integer("max_completion_tokens", max_tokens, 1, L::kMaxTokens,
              "Max tokens of the completion; default: what fits the context")
        .integer("max_tokens", max_tokens, 1, L::kMaxTokens, "Alias of max_completion_tokens (OpenAI's older name)")
        .boolean(
            "logprobs", [](Fields& f) -> auto& { return f.chat_logprobs; },
            "Return logprobs of the completion's tokens")
        .integer(
            "top_logprobs", [](Fields& f) -> auto& { return f.logprobs; }, 0, L::kLogprobs,
            "Number of most likely tokens listed at each position; needs logprobs");
    add_sampling_fields(s);
    add_ending_fields(s);
    add_beam_fields(s);
    add_adapter_fields(s);
    add_stream_fields(s);
    add_serving_fields(s);
    add_constraint_fields(s);
    s.listed("verbosity", "the template has no switch for it", {{"enum", {"low", "medium", "high"}}}, {"medium"})
        .listed("prediction", "draft tokens come from prompt and completion", {{"type", "object"}})
        .rejected("modalities", "completions are text", {Json::array({"text"})})
        .rejected("audio", "completions are text")
        .rejected("web_search_options", kNoToolsOfItsOwn)
        .rejected("functions", "see tools", {Json::array()})
        .rejected("function_call", "see tool_choice", {"none", "auto"});
    s.required("messages");
    return s;
  }();
  return made;
}

class ChatCompletions final : public GenerationRoute {
 public:
  Result<void> read(const Json& body, Fields& to, FieldNotes& notes) const override {
    if (auto fine = chat_completions_schema().read(body, to, notes); !fine) return fine;
    if (to.logprobs && *to.logprobs > 0 && !to.chat_logprobs) {
      return make_error(ErrorCode::kInvalidArgument, "top_logprobs", "top_logprobs needs logprobs to be true");
    }
    if (to.chat_logprobs && !to.logprobs) to.logprobs = 0;
    if (!to.chat_logprobs) to.logprobs.reset();
    return {};
  }
  Result<void> prepare(GenerationTask& task) const override {
    if (auto rendered = render_chat(task); !rendered) return rendered;
    return make_requests(task, L::kMaxTokens);
  }
  std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const override { return chat_format(task); }
};

}  // namespace

Route chat_completions() {
  return {.method = "POST",
          .path = "/v1/chat/completions",
          .summary = "Generate the next message of a conversation (OpenAI Chat Completions)",
          .handle = generation_route<ChatCompletions>,
          .reader = task_reader<ChatCompletions>,
          .body_schema = [] { return chat_completions_schema().json(); },
          .streams = true};
}

}  // namespace millrace::server::routes
