#include "server/formats/messages_format.h"

namespace millrace::server {
namespace {

void append_named_event(std::string& out, std::string_view name, const Json& data) {
  out += "event: ";
  out += name;
  out += "\ndata: ";
  out += dumped(data);
  out += "\n\n";
}

class MessagesFormat final : public AnswerFormat {
 public:
  explicit MessagesFormat(const GenerationTask& task) : task_(task), id_("msg_" + task.request_id) {}

  void begin(std::string& out) override {
    append_named_event(out, "message_start", {{"type", "message_start"}, {"message", message(Json::array(), nullptr)}});
    append_named_event(
        out, "content_block_start",
        {{"type", "content_block_start"}, {"index", 0}, {"content_block", {{"type", "text"}, {"text", ""}}}});
  }

  void add(const Answer&, const Piece& piece, std::string& out) override {
    if (piece.text.empty()) return;
    out += R"(event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":)";
    out += json_string(piece.text);
    out += "}}\n\n";
  }

  void end(const std::vector<Answer>& answers, std::string& out) override {
    append_named_event(out, "content_block_stop", {{"type", "content_block_stop"}, {"index", 0}});
    append_named_event(
        out, "message_delta",
        {{"type", "message_delta"},
         {"delta", {{"stop_reason", stop_reason(answers[0])}, {"stop_sequence", stop_sequence(answers[0])}}},
         {"usage", usage(&answers[0])}});
    append_named_event(out, "message_stop", {{"type", "message_stop"}});
  }

  void fail(const ApiError& error, std::string& out) override {
    append_named_event(out, "error", error.json(Dialect::kAnthropic));
  }

  std::string_view keep_alive() const noexcept override { return "event: ping\ndata: {\"type\":\"ping\"}\n\n"; }

  Json whole(const std::vector<Answer>& answers) override {
    return message(Json::array({{{"type", "text"}, {"text", answers[0].text}}}), &answers[0]);
  }

 private:
  // `answer` null: it has only begun.
  Json message(Json content, const Answer* answer) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", task_.model->name},
            {"content", std::move(content)},
            {"stop_reason", answer == nullptr ? Json() : stop_reason(*answer)},
            {"stop_sequence", answer == nullptr ? Json() : stop_sequence(*answer)},
            {"usage", usage(answer)}};
  }
  static Json stop_reason(const Answer& answer) {
    if (answer.finish == engine::FinishReason::kLength) return "max_tokens";
    return std::holds_alternative<std::string>(answer.stop_reason) ? "stop_sequence" : "end_turn";
  }
  static Json stop_sequence(const Answer& answer) {
    const auto* text = std::get_if<std::string>(&answer.stop_reason);
    return text == nullptr ? Json() : Json(*text);
  }
  // Cached tokens are counted beside the input, not in it.
  Json usage(const Answer* answer) const {
    const auto prompt =
        answer == nullptr ? static_cast<std::int64_t>(task_.prompts[0].size()) : answer->stats.prompt_tokens;
    const std::int64_t cached = answer == nullptr ? 0 : answer->stats.cached_tokens;
    return {{"input_tokens", prompt - cached},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", cached},
            {"output_tokens", answer == nullptr ? 0 : answer->stats.output_tokens}};
  }

  const GenerationTask& task_;
  const std::string id_;
};

}  // namespace

std::unique_ptr<AnswerFormat> messages_format(const GenerationTask& task) {
  return std::make_unique<MessagesFormat>(task);
}

}  // namespace millrace::server
