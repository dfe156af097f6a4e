#include "server/formats/chat_format.h"

#include "server/formats/openai_parts.h"

namespace millrace::server {
namespace {

class ChatFormat final : public AnswerFormat {
 public:
  explicit ChatFormat(const GenerationTask& task)
      : task_(task),
        id_("chatcmpl-" + task.request_id),
        chunk_(fmt::format(R"({{"id":{},"object":"chat.completion.chunk","created":{},"model":{},"choices":[)",
                           json_string(id_), task.created, json_string(task.model_name()))),
        n_(static_cast<std::size_t>(task.fields.n)) {}

  void begin(std::string& out) override {
    const std::size_t answers = task_.prompts.size() * n_;
    for (std::size_t i = 0; i < answers; ++i) {
      open(out, i);
      out += R"({"role":"assistant","content":""},"logprobs":null,"finish_reason":null)";
      if (i == 0 && task_.fields.return_token_ids) {
        out += R"(}],"prompt_token_ids":)" + dumped(task_.prompts[0]);
        close_chunk(out);
      } else {
        close(out);
      }
    }
  }

  void add(const Answer& answer, const Piece& piece, std::string& out) override {
    const bool ends = answer.finish != engine::FinishReason::kNone;
    produced_ += static_cast<std::int64_t>(piece.tokens.size());
    std::vector<std::string> deltas;
    for (const chat::PartEvent& event : piece.events) {
      if (std::string said = delta(event); !said.empty()) deltas.push_back(std::move(said));
    }
    const bool tells = ends || !piece.scores.empty() || task_.fields.return_token_ids;
    // The end of calls is a chunk of its own, as clients expect it.
    if ((ends && !answer.parts.calls.empty()) || (deltas.empty() && tells)) deltas.emplace_back();
    for (std::size_t i = 0; i < deltas.size(); ++i) add_delta(answer, piece, deltas, i, out);
  }

  void end(const std::vector<Answer>& answers, std::string& out) override { append_end(out, task_, chunk_, answers); }

  void fail(const ApiError& error, std::string& out) override { append_failure(out, error); }

  Json whole(const std::vector<Answer>& answers) override {
    Json choices = Json::array();
    for (const Answer& answer : answers) {
      Json choice = {{"index", answer.index},
                     {"message", message(answer.parts)},
                     {"logprobs", task_.fields.chat_logprobs ? logprobs(answer.scores) : Json()},
                     {"finish_reason", finish_reason(task_, answer)},
                     {"stop_reason", stop_reason(answer)}};
      if (task_.fields.return_token_ids) choice["token_ids"] = answer.tokens;
      choices.push_back(std::move(choice));
    }
    Json out = {{"id", id_},
                {"object", "chat.completion"},
                {"created", task_.created},
                {"model", task_.model_name()},
                {"choices", std::move(choices)},
                {"usage", usage(task_, answers)},
                {"system_fingerprint", nullptr}};
    if (task_.fields.prompt_logprobs) out["prompt_logprobs"] = prompt_logprobs(task_, answers[0]);
    if (task_.fields.return_token_ids) out["prompt_token_ids"] = task_.prompts[0];
    add_times(out, task_, answers[0]);
    return out;
  }

 private:
  // Under both names: vLLM's and, before it, DeepSeek's.
  Json message(const chat::AnswerParts& parts) const {
    Json out = {{"role", "assistant"},
                {"content", parts.content.empty() && !parts.calls.empty() ? Json() : Json(parts.content)},
                {"refusal", nullptr}};
    if (!parts.reasoning.empty() && task_.fields.include_reasoning) {
      out["reasoning_content"] = parts.reasoning;
      out["reasoning"] = parts.reasoning;
    }
    for (const chat::ToolCall& call : parts.calls) {
      out["tool_calls"].push_back(
          {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    return out;
  }
  // The members of a chunk's delta; empty: nothing is said.
  std::string delta(const chat::PartEvent& event) const {
    switch (event.kind) {
      case chat::PartEvent::Kind::kContent: return R"("content":)" + json_string(event.text);
      case chat::PartEvent::Kind::kReasoning: {
        if (!task_.fields.include_reasoning) return {};
        const std::string text = json_string(event.text);
        return R"("reasoning_content":)" + text + R"(,"reasoning":)" + text;
      }
      case chat::PartEvent::Kind::kCallBegin:
        return fmt::format(
            R"("tool_calls":[{{"index":{},"id":{},"type":"function","function":{{"name":{},"arguments":""}}}}])",
            event.call, json_string(event.id), json_string(event.text));
      case chat::PartEvent::Kind::kCallArguments:
        return fmt::format(R"("tool_calls":[{{"index":{},"function":{{"arguments":{}}}}}])", event.call,
                           json_string(event.text));
      case chat::PartEvent::Kind::kCallEnd: break;
    }
    return {};
  }
  // Scores and tokens come with the first of the piece's chunks, the finish with the last.
  void add_delta(const Answer& answer, const Piece& piece, const std::vector<std::string>& deltas, std::size_t i,
                 std::string& out) const {
    open(out, answer.index);
    out += '{';
    out += deltas[i];
    out += R"(},"logprobs":)";
    out += i > 0 || piece.scores.empty() ? "null" : dumped(logprobs(piece.scores));
    if (answer.finish != engine::FinishReason::kNone && i + 1 == deltas.size()) {
      out += R"(,"finish_reason":)" + finish_reason(task_, answer).dump();
      out += R"(,"stop_reason":)" + dumped(stop_reason(answer));
    } else {
      out += R"(,"finish_reason":null)";
    }
    if (task_.fields.return_token_ids) out += R"(,"token_ids":)" + (i > 0 ? "[]" : dumped(piece.tokens));
    close(out);
  }
  void open(std::string& out, std::size_t index) const {
    out += "data: ";
    out += chunk_;
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"delta":)", index);
  }
  void close(std::string& out) const {
    out += "}]";
    close_chunk(out);
  }
  void close_chunk(std::string& out) const {
    append_usage_so_far(out, task_, 0, produced_);
    out += "}\n\n";
  }

  Json entry(const engine::TokenLogprob& one) const {
    const std::string bytes = task_.model->tokenizer->token_bytes(one.token);
    Json list = Json::array();
    for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
    return {
        {"token", token_text(task_, one.token)}, {"logprob", finite_logprob(one.logprob)}, {"bytes", std::move(list)}};
  }
  Json logprobs(const std::vector<engine::TokenScore>& scores) const {
    Json content = Json::array();
    for (const engine::TokenScore& score : scores) {
      Json one = entry(score.chosen);
      Json top = Json::array();
      for (const engine::TokenLogprob& other : score.top) top.push_back(entry(other));
      one["top_logprobs"] = std::move(top);
      content.push_back(std::move(one));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  const GenerationTask& task_;
  const std::string id_;
  const std::string chunk_;  // as all chunks begin
  const std::size_t n_;
  std::int64_t produced_ = 0;
};

}  // namespace

std::unique_ptr<AnswerFormat> chat_format(const GenerationTask& task) { return std::make_unique<ChatFormat>(task); }

}  // namespace millrace::server
