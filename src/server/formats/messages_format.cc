#include "server/formats/messages_format.h"

#include <optional>

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
    // Where nothing but text can come, its block is there at once.
    if (task_.reading.plain()) open_block(chat::PartEvent::Kind::kContent, text_block(""), out);
  }

  void add(const Answer&, const Piece& piece, std::string& out) override {
    for (const chat::PartEvent& event : piece.events) add_event(event, out);
  }

  void end(const std::vector<Answer>& answers, std::string& out) override {
    if (blocks_ == 0) open_block(chat::PartEvent::Kind::kContent, text_block(""), out);
    close_block(out);
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
    const chat::AnswerParts& parts = answers[0].parts;
    Json content = Json::array();
    if (!parts.reasoning.empty() && task_.fields.include_reasoning) {
      content.push_back({{"type", "thinking"}, {"thinking", parts.reasoning}, {"signature", ""}});
    }
    if (!parts.content.empty() || (content.empty() && parts.calls.empty()))
      content.push_back(text_block(parts.content));
    for (const chat::ToolCall& call : parts.calls) {
      content.push_back(
          {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", input_of(call.arguments)}});
    }
    return message(std::move(content), &answers[0]);
  }

 private:
  static Json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }
  // Of an answer that was cut, what there is does not parse.
  static Json input_of(const std::string& arguments) {
    auto parsed = parse_json(arguments);
    return parsed && parsed->is_object() ? *parsed : Json::object();
  }

  void open_block(chat::PartEvent::Kind kind, const Json& block, std::string& out) {
    close_block(out);
    open_ = kind;
    append_named_event(out, "content_block_start",
                       {{"type", "content_block_start"}, {"index", blocks_++}, {"content_block", block}});
  }
  void close_block(std::string& out) {
    if (!open_) return;
    if (open_ == chat::PartEvent::Kind::kReasoning) add_delta("signature_delta", "signature", "", out);
    append_named_event(out, "content_block_stop", {{"type", "content_block_stop"}, {"index", blocks_ - 1}});
    open_.reset();
  }
  void add_delta(std::string_view type, std::string_view member, const std::string& text, std::string& out) const {
    out += "event: content_block_delta\n";
    fmt::format_to(std::back_inserter(out),
                   R"(data: {{"type":"content_block_delta","index":{},"delta":{{"type":"{}","{}":{}}}}})", blocks_ - 1,
                   type, member, json_string(text));
    out += "\n\n";
  }
  void add_event(const chat::PartEvent& event, std::string& out) {
    using enum chat::PartEvent::Kind;
    switch (event.kind) {
      case kReasoning:
        if (!task_.fields.include_reasoning) return;
        if (open_ != kReasoning) {
          open_block(kReasoning, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}, out);
        }
        return add_delta("thinking_delta", "thinking", event.text, out);
      case kContent:
        if (open_ != kContent) open_block(kContent, text_block(""), out);
        return add_delta("text_delta", "text", event.text, out);
      case kCallBegin:
        return open_block(
            kCallBegin, {{"type", "tool_use"}, {"id", event.id}, {"name", event.text}, {"input", Json::object()}}, out);
      case kCallArguments: return add_delta("input_json_delta", "partial_json", event.text, out);
      case kCallEnd: return close_block(out);
    }
  }

  // `answer` null: it has only begun.
  Json message(Json content, const Answer* answer) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", task_.model_name()},
            {"content", std::move(content)},
            {"stop_reason", answer == nullptr ? Json() : stop_reason(*answer)},
            {"stop_sequence", answer == nullptr ? Json() : stop_sequence(*answer)},
            {"usage", usage(answer)}};
  }
  static Json stop_reason(const Answer& answer) {
    if (answer.finish == engine::FinishReason::kLength) return "max_tokens";
    if (std::holds_alternative<std::string>(answer.stop_reason)) return "stop_sequence";
    return answer.parts.calls.empty() ? "end_turn" : "tool_use";
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
  int blocks_ = 0;                             // begun
  std::optional<chat::PartEvent::Kind> open_;  // what the last one is for, while it is open
};

}  // namespace

std::unique_ptr<AnswerFormat> messages_format(const GenerationTask& task) {
  return std::make_unique<MessagesFormat>(task);
}

}  // namespace millrace::server
