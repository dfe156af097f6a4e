#include "server/generation_fields.h"
#include "server/limits.h"
#include "server/pooled_reply.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

struct DetokenizeFields {
  std::string model;
  std::vector<std::int32_t> tokens;
};

const Schema<DetokenizeFields>& detokenize_schema() {
  static const Schema<DetokenizeFields> made = [] {
    Schema<DetokenizeFields> s;
    s.string(
         "model", [](DetokenizeFields& f) -> auto& { return f.model; }, RequestLimits::kNameLength,
         "Model whose tokenizer is asked for")
        .field("tokens", "Token ids to turn into text",
               {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", 2147483647}}}},
               [](DetokenizeFields& f, const Json& value) -> Result<void> {
                 auto read = read_token_ids("tokens", value, std::size_t{1} << 24);
                 if (!read) return read.error();
                 f.tokens = std::move(*read);
                 return {};
               });
    s.required("tokens");
    return s;
  }();
  return made;
}

Result<Json> detokenized(ServerContext& server, const Call&, const DetokenizeFields& fields) {
  const auto model = server.models.ready(fields.model);
  if (model == nullptr) return server.models.absence(fields.model);
  for (const std::int32_t id : fields.tokens) {
    if (id < model->vocab_size) continue;
    return make_error(ErrorCode::kInvalidArgument, "tokens", "token id {} is outside the vocabulary of {}", id,
                      model->vocab_size);
  }
  const std::string text = model->tokenizer->decode(fields.tokens, false);
  return Json{{"prompt", text}, {"text", text}, {"content", text}};  // vLLM's, SGLang's and llama-server's keys
}

}  // namespace

Route detokenize() {
  return {.method = "POST",
          .path = "/detokenize",
          .summary = "Tokens as text",
          .handle = [](ServerContext& server,
                       Call call) { return answer_fields(server, std::move(call), detokenize_schema(), detokenized); },
          .body_schema = [] { return detokenize_schema().json(); }};
}

}  // namespace millrace::server::routes
