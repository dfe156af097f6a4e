#include "server/formats/responses_format.h"

namespace millrace::server {
namespace {

class ResponsesFormat final : public AnswerFormat {
 public:
  explicit ResponsesFormat(const GenerationTask& task)
      : task_(task), id_("resp_" + task.request_id), item_("msg_" + task.request_id) {}

  void begin(std::string& out) override {
    event(out, "response.created", {{"response", response("in_progress", nullptr)}});
    event(out, "response.in_progress", {{"response", response("in_progress", nullptr)}});
    event(out, "response.output_item.added", {{"output_index", 0}, {"item", item("in_progress", nullptr)}});
    event(out, "response.content_part.added",
          {{"item_id", item_}, {"output_index", 0}, {"content_index", 0}, {"part", part("")}});
  }

  void add(const Answer&, const Piece& piece, std::string& out) override {
    if (piece.text.empty()) return;
    event(out, "response.output_text.delta",
          {{"item_id", item_},
           {"output_index", 0},
           {"content_index", 0},
           {"delta", piece.text},
           {"logprobs", Json::array()}});
  }

  void end(const std::vector<Answer>& answers, std::string& out) override {
    const Answer& answer = answers[0];
    event(out, "response.output_text.done",
          {{"item_id", item_},
           {"output_index", 0},
           {"content_index", 0},
           {"text", answer.text},
           {"logprobs", Json::array()}});
    event(out, "response.content_part.done",
          {{"item_id", item_}, {"output_index", 0}, {"content_index", 0}, {"part", part(answer.text)}});
    event(out, "response.output_item.done", {{"output_index", 0}, {"item", item(status(answer), &answer)}});
    event(out, std::string("response.") + status(answer), {{"response", response(status(answer), &answer)}});
  }

  void fail(const ApiError& error, std::string& out) override {
    Json failed = response("failed", nullptr);
    failed["error"] = {{"code", error.code}, {"message", error.message}};
    event(out, "response.failed", {{"response", std::move(failed)}});
  }

  Json whole(const std::vector<Answer>& answers) override { return response(status(answers[0]), &answers[0]); }

 private:
  static const char* status(const Answer& answer) {
    return answer.finish == engine::FinishReason::kLength ? "incomplete" : "completed";
  }
  void event(std::string& out, const std::string& type, const Json& fields) {
    Json data = {{"type", type}, {"sequence_number", sequence_++}};
    data.update(fields);
    out += "event: " + type + "\ndata: " + dumped(data) + "\n\n";
  }
  static Json part(const std::string& text) {
    return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
  }
  Json item(const char* state, const Answer* answer) const {
    Json content = Json::array();
    if (answer != nullptr) content.push_back(part(answer->text));
    return {
        {"id", item_}, {"type", "message"}, {"status", state}, {"role", "assistant"}, {"content", std::move(content)}};
  }
  Json response(const char* state, const Answer* answer) const {
    const GenerationFields& f = task_.fields;
    Json out = {{"id", id_},
                {"object", "response"},
                {"created_at", task_.created},
                {"status", state},
                {"error", nullptr},
                {"incomplete_details", nullptr},
                {"instructions", f.system.empty() ? Json() : Json(f.system)},
                {"max_output_tokens", f.max_tokens ? Json(*f.max_tokens) : Json()},
                {"model", task_.model->name},
                {"output", answer == nullptr ? Json::array() : Json::array({item(state, answer)})},
                {"parallel_tool_calls", true},
                {"previous_response_id", nullptr},
                {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                {"store", false},
                {"temperature", f.temperature ? Json(*f.temperature) : Json()},
                {"text", {{"format", {{"type", "text"}}}}},
                {"tool_choice", "auto"},
                {"tools", Json::array()},
                {"top_p", f.top_p ? Json(*f.top_p) : Json()},
                {"truncation", "disabled"},
                {"usage", nullptr},
                {"user", f.user.empty() ? Json() : Json(f.user)},
                {"metadata", Json::object()}};
    if (answer == nullptr) return out;
    if (answer->finish == engine::FinishReason::kLength) out["incomplete_details"] = {{"reason", "max_output_tokens"}};
    const engine::RequestStats& s = answer->stats;
    out["usage"] = {{"input_tokens", s.prompt_tokens},
                    {"input_tokens_details", {{"cached_tokens", s.cached_tokens}}},
                    {"output_tokens", s.output_tokens},
                    {"output_tokens_details", {{"reasoning_tokens", 0}}},
                    {"total_tokens", s.prompt_tokens + s.output_tokens}};
    return out;
  }

  const GenerationTask& task_;
  const std::string id_, item_;
  int sequence_ = 0;
};

}  // namespace

std::unique_ptr<AnswerFormat> responses_format(const GenerationTask& task) {
  return std::make_unique<ResponsesFormat>(task);
}

}  // namespace millrace::server
