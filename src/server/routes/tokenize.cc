#include "server/generation_handler.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

using Fields = GenerationFields;

const GenerationSchema& tokenize_schema() {
  static const GenerationSchema made = [] {
    GenerationSchema s;
    const auto text = [](Fields& f) -> auto& { return f.text; };
    s.string("prompt", text, std::size_t{8} << 20, "Text to tokenize")
        .string("content", text, std::size_t{8} << 20, "Alias of prompt (llama-server)")
        .boolean(
            "return_token_strs", [](Fields& f) -> auto& { return f.return_token_strings; },
            "Return the text of each token beside its id")
        .boolean(
            "with_pieces", [](Fields& f) -> auto& { return f.return_token_strings; },
            "Alias of return_token_strs (llama-server)")
        .boolean(
            "add_special", [](Fields& f) -> auto& { return f.add_special_tokens; },
            "Alias of add_special_tokens (llama-server)")
        .boolean(
            "parse_special", [](Fields& f) -> auto& { return f.parse_special; },
            "Whether special tokens written in the text are meant; default true");
    add_chat_prompt_fields(s);
    s.string(
        "model", [](Fields& f) -> auto& { return f.model; }, RequestLimits::kNameLength,
        "Model whose tokenizer is asked for");
    return s;
  }();
  return made;
}

class Tokenize final : public PromptRoute {
 public:
  Result<void> read(const Json& body, Fields& to, FieldNotes& notes) const override {
    if (auto fine = tokenize_schema().read(body, to, notes); !fine) return fine;
    // llama-server adds none unless told to; vLLM does.
    if (body.contains("content") && !to.add_special_tokens) to.add_special_tokens = false;
    return {};
  }
  Result<void> prepare(GenerationTask& task) const override {
    if (!task.fields.messages.is_null()) return render_chat(task);
    const Fields& fields = task.fields;
    const bool special = fields.add_special_tokens.value_or(true);
    task.prompts.push_back(task.model->tokenizer->encode(fields.text, special, fields.parse_special));
    return {};
  }
  Json answer(const GenerationTask& task) const override {
    const std::vector<std::int32_t>& tokens = task.prompts[0];
    Json out = {{"count", tokens.size()}, {"max_model_len", task.model->max_length}, {"tokens", tokens}};
    if (task.fields.return_token_strings) {
      Json texts = Json::array();
      for (const std::int32_t id : tokens) texts.push_back(std::string(task.model->tokenizer->token_text(id)));
      out["token_strs"] = std::move(texts);
    }
    return out;
  }
};

}  // namespace

Route tokenize() {
  return {.method = "POST",
          .path = "/tokenize",
          .summary = "A text, or a conversation, as tokens",
          .handle = prompt_route<Tokenize>,
          .reader = task_reader<Tokenize>,
          .body_schema = [] { return tokenize_schema().json(); }};
}

}  // namespace millrace::server::routes
