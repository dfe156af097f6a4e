#include "server/formats/responses_format.h"

#include "server/formats/openai_parts.h"
#include "server/formats/response_items.h"

namespace millrace::server {
namespace {

class ResponsesFormat final : public AnswerFormat {
 public:
  explicit ResponsesFormat(const GenerationTask& task)
      : task_(task), id_("resp_" + task.request_id), items_(task.request_id, task.fields.include_reasoning) {}

  void begin(std::string& out) override {
    event(out, "response.created", {{"response", response("in_progress", nullptr, Json::array())}});
    event(out, "response.in_progress", {{"response", response("in_progress", nullptr, Json::array())}});
    // Where nothing but text can come, its item is there at once.
    if (task_.reading.plain()) items_.begin_message(emit_to(out));
  }

  void add(const Answer&, const Piece& piece, std::string& out) override {
    for (const chat::PartEvent& said : piece.events) items_.add(said, emit_to(out));
  }

  void end(const std::vector<Answer>& answers, std::string& out) override {
    const Answer& answer = answers[0];
    items_.end(status(answer), emit_to(out));
    event(out, std::string("response.") + status(answer),
          {{"response", response(status(answer), &answer, items_.done())}});
  }

  void fail(const ApiError& error, std::string& out) override {
    Json failed = response("failed", nullptr, Json::array());
    failed["error"] = {{"code", error.code}, {"message", error.message}};
    event(out, "response.failed", {{"response", std::move(failed)}});
  }

  Json whole(const std::vector<Answer>& answers) override {
    using enum chat::PartEvent::Kind;
    const chat::AnswerParts& parts = answers[0].parts;
    const auto nobody = [](const std::string&, const Json&) {};
    const auto say = [&](chat::PartEvent::Kind kind, const std::string& text, const std::string& id = {}) {
      items_.add({.kind = kind, .call = 0, .text = text, .id = id}, nobody);
    };
    if (!parts.reasoning.empty()) say(kReasoning, parts.reasoning);
    if (!parts.content.empty()) say(kContent, parts.content);
    for (const chat::ToolCall& call : parts.calls) {
      say(kCallBegin, call.name, call.id);
      say(kCallArguments, call.arguments);
    }
    items_.end(status(answers[0]), nobody);
    return response(status(answers[0]), &answers[0], items_.done());
  }

 private:
  static const char* status(const Answer& answer) {
    return answer.finish == engine::FinishReason::kLength ? "incomplete" : "completed";
  }
  void event(std::string& out, const std::string& type, const Json& fields) {
    Json data = {{"type", type}, {"sequence_number", sequence_++}};
    data.update(fields);
    out += "event: " + type + "\ndata: " + dumped(data) + "\n\n";
  }
  ResponseItems::Emit emit_to(std::string& out) {
    return [this, &out](const std::string& type, const Json& fields) { event(out, type, fields); };
  }
  // As the request spelled them.
  Json tools() const {
    Json out = Json::array();
    for (const Json& tool : task_.fields.tools) {
      Json flat = {{"type", "function"}};
      flat.update(tool["function"]);
      out.push_back(std::move(flat));
    }
    return out;
  }
  Json response(const char* state, const Answer* answer, Json output) const {
    const GenerationFields& f = task_.fields;
    const auto given = [&](std::string_view option) {
      const auto value = f.given.find(option);
      return value ? Json(*value) : Json();
    };
    const Json effort = f.reasoning_effort.empty() ? Json() : Json(f.reasoning_effort);
    Json out = {{"id", id_},
                {"object", "response"},
                {"created_at", task_.created},
                {"status", state},
                {"error", nullptr},
                {"incomplete_details", nullptr},
                {"instructions", f.system.empty() ? Json() : Json(f.system)},
                {"max_output_tokens", f.max_tokens ? Json(*f.max_tokens) : Json()},
                {"model", task_.model_name()},
                {"output", std::move(output)},
                {"parallel_tool_calls", f.parallel_tool_calls},
                {"previous_response_id", nullptr},
                {"reasoning", {{"effort", effort}, {"summary", nullptr}}},
                {"store", false},
                {"temperature", given("temperature")},
                {"text", {{"format", f.text_format.is_null() ? Json({{"type", "text"}}) : f.text_format}}},
                {"tool_choice", f.tool_choice.is_null() ? Json("auto") : f.tool_choice},
                {"tools", tools()},
                {"top_p", given("top_p")},
                {"truncation", f.truncate_conversation ? "auto" : "disabled"},
                {"usage", nullptr},
                {"user", f.user.empty() ? Json() : Json(f.user)},
                {"metadata", Json::object()}};
    if (answer == nullptr) return out;
    if (answer->finish == engine::FinishReason::kLength) out["incomplete_details"] = {{"reason", "max_output_tokens"}};
    const engine::RequestStats& s = answer->stats;
    out["usage"] = {{"input_tokens", s.prompt_tokens},
                    {"input_tokens_details", {{"cached_tokens", s.cached_tokens}}},
                    {"output_tokens", s.output_tokens},
                    {"output_tokens_details", {{"reasoning_tokens", answer->reasoning_tokens}}},
                    {"total_tokens", s.prompt_tokens + s.output_tokens}};
    add_times(out, task_, *answer);
    return out;
  }

  const GenerationTask& task_;
  const std::string id_;
  ResponseItems items_;
  int sequence_ = 0;
};

}  // namespace

std::unique_ptr<AnswerFormat> responses_format(const GenerationTask& task) {
  return std::make_unique<ResponsesFormat>(task);
}

}  // namespace millrace::server
