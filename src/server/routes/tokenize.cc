#include "server/generation.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

using Fields = GenerationFields;

const GenerationSchema& schema() {
  static const GenerationSchema made = [] {
    GenerationSchema s;
    const auto text = [](Fields& f) -> auto& { return f.text; };
    s.string("prompt", text, std::size_t{8} << 20, "The text")
        .string("content", text, std::size_t{8} << 20, "The same under llama-server's name")
        .boolean(
            "return_token_strs", [](Fields& f) -> auto& { return f.return_token_strings; }, "The tokens' texts too")
        .boolean(
            "with_pieces", [](Fields& f) -> auto& { return f.return_token_strings; },
            "The same under llama-server's name")
        .boolean(
            "add_special", [](Fields& f) -> auto& { return f.add_special_tokens; },
            "add_special_tokens under llama-server's name")
        .boolean(
            "parse_special", [](Fields& f) -> auto& { return f.parse_special; },
            "Whether special tokens written in the text are meant; default true");
    add_chat_prompt_fields(s);
    s.string("model", [](Fields& f) -> auto& { return f.model; }, RequestLimits::kNameLength, "Whose tokenizer");
    return s;
  }();
  return made;
}

Result<Json> tokenize_body(Service& service, const Call& call) {
  auto body = parse_json(call.request.body);
  if (!body) return body.error();
  GenerationTask task;
  std::vector<std::string> unknown;
  if (auto fine = schema().read(*body, task.fields, unknown); !fine) return fine.error();
  task.model = service.models().ready(task.fields.model);
  if (task.model == nullptr) return service.models().absence(task.fields.model);
  task.created = unix_time();
  if (!task.fields.messages.is_null()) {
    if (auto rendered = render_chat(task); !rendered) return rendered.error();
  } else {
    // llama-server adds none unless told to; vLLM does.
    const bool special = task.fields.add_special_tokens.value_or(!body->contains("content"));
    task.prompts.push_back(task.model->tokenizer->encode(task.fields.text, special, task.fields.parse_special));
  }
  const std::vector<std::int32_t>& tokens = task.prompts[0];
  Json out = {{"count", tokens.size()}, {"max_model_len", task.model->max_length}, {"tokens", tokens}};
  if (task.fields.return_token_strings) {
    Json texts = Json::array();
    for (const std::int32_t id : tokens) texts.push_back(std::string(task.model->tokenizer->token_text(id)));
    out["token_strs"] = std::move(texts);
  }
  return out;
}

}  // namespace

Route tokenize() {
  return {.method = "POST",
          .path = "/tokenize",
          .summary = "A text, or a conversation, as tokens",
          .handle = [](Service& service, Call call) { return answer_json<tokenize_body>(service, std::move(call)); },
          .body_schema = [] { return schema().json(); }};
}

}  // namespace millrace::server::routes
