#include "server/formats/responses_format.h"
#include "server/generation.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

Result<std::string> text_of(const Json& content, const std::string& path) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return GenerationSchema::wrong_type(path, "a string or a list of parts");
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", path, i);
    const Json& part = content[i];
    const Json type = part.is_object() ? part.value("type", Json()) : Json();
    if (type != "input_text" && type != "output_text" && type != "text") {
      return GenerationSchema::wrong_type(where + ".type", "input_text or output_text: this model takes text only");
    }
    const Json piece = part.value("text", Json());
    if (!piece.is_string()) return GenerationSchema::wrong_type(where + ".text", "a string");
    text += (text.empty() ? "" : "\n") + piece.get<std::string>();
  }
  return text;
}

// A text, or a list of messages; reasoning of earlier rounds is left out.
Result<void> read_input(Fields& to, const Json& value) {
  if (value.is_string()) {
    to.messages = Json::array({{{"role", "user"}, {"content", value}}});
    return {};
  }
  if (!value.is_array() || value.empty())
    return GenerationSchema::wrong_type("input", "a string or a list of at least one item");
  Json messages = Json::array();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = fmt::format("input[{}]", i);
    const Json& item = value[i];
    if (!item.is_object()) return GenerationSchema::wrong_type(path, "an object");
    const Json type = item.value("type", Json("message"));
    if (type == "reasoning") continue;
    if (type != "message")
      return GenerationSchema::wrong_type(path + ".type", "message: this version makes no tool calls");
    const Json role = item.value("role", Json());
    if (role != "user" && role != "assistant" && role != "system" && role != "developer") {
      return GenerationSchema::wrong_type(path + ".role", "user, assistant, system or developer");
    }
    auto text = text_of(item.value("content", Json()), path + ".content");
    if (!text) return text.error();
    messages.push_back({{"role", role}, {"content", std::move(*text)}});
  }
  if (messages.empty()) return GenerationSchema::wrong_type("input", "a list that holds a message");
  to.messages = std::move(messages);
  return {};
}

const GenerationSchema& schema() {
  static const GenerationSchema made = [] {
    GenerationSchema s;
    const Json message = {{"type", "object"},
                          {"required", {"role", "content"}},
                          {"properties",
                           {{"type", {{"const", "message"}}},
                            {"role", {{"enum", {"user", "assistant", "system", "developer"}}}},
                            {"content", {{"type", "string"}}}}}};
    s.field("input", "A text, or the conversation so far",
            {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"minItems", 1}, {"items", message}}}}}, read_input)
        .string(
            "instructions", [](Fields& f) -> auto& { return f.system; }, std::size_t{1} << 20, "What stands before it")
        .integer(
            "max_output_tokens", [](Fields& f) -> auto& { return f.max_tokens; }, 1, L::kMaxTokens,
            "Tokens of the answer; default: what fits")
        .field("previous_response_id", "Refused: responses are not kept", {{"type", "null"}},
               [](Fields&, const Json&) -> Result<void> {
                 return make_error(ErrorCode::kUnsupported, "previous_response_id",
                                   "previous_response_id: this server keeps no responses; send the conversation");
               })
        .field("background", "Refused: responses are not kept", {{"enum", {false, nullptr}}},
               [](Fields&, const Json& value) -> Result<void> {
                 if (value == false) return {};
                 return make_error(ErrorCode::kUnsupported, "background", "background: not supported");
               })
        .field("tools", "Functions are not yet supported, refused; the API's own tools are taken, of no effect",
               {{"type", {"array", "null"}}, {"maxItems", 0}},
               [](Fields&, const Json& value) -> Result<void> {
                 if (!value.is_array()) return GenerationSchema::wrong_type("tools", "a list");
                 for (const Json& tool : value) {
                   if (!tool.is_object() || tool.value("type", Json()) != "function") continue;
                   return make_error(ErrorCode::kUnsupported, "tools", "tools: this version makes no tool calls");
                 }
                 return {};
               })
        .field("text", "format: only text", {{"type", {"object", "null"}}, {"maxProperties", 0}},
               [](Fields&, const Json& value) -> Result<void> {
                 const Json format = value.is_object() ? value.value("format", Json()) : Json();
                 if (format.is_null() || (format.is_object() && format.value("type", Json()) == "text")) return {};
                 return make_error(ErrorCode::kUnsupported, "text.format",
                                   "text.format: structured output is not supported by this version");
               })
        .ignored("tool_choice", "Taken, of no effect without tools")
        .ignored("parallel_tool_calls", "Taken, of no effect")
        .ignored("reasoning", "Taken, of no effect")
        .ignored("include", "Taken, of no effect")
        .ignored("truncation", "Taken, of no effect");
    add_sampling_fields(s);
    s.boolean("stream", [](Fields& f) -> auto& { return f.stream; }, "Server-sent events instead of one object");
    add_serving_fields(s);
    s.required("input");
    return s;
  }();
  return made;
}

class Responses final : public GenerationRoute {
 public:
  Result<void> read(const Json& body, Fields& to, std::vector<std::string>& unknown) const override {
    if (auto fine = schema().read(body, to, unknown); !fine) return fine;
    add_system_message(to);
    return {};
  }
  Result<void> prepare(GenerationTask& task) const override {
    if (auto rendered = render_chat(task); !rendered) return rendered;
    return make_requests(task, L::kMaxTokens);
  }
  std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const override { return responses_format(task); }
};

}  // namespace

Route responses() {
  return {.method = "POST",
          .path = "/v1/responses",
          .summary = "Answer a conversation, as OpenAI's Responses API has it",
          .handle = generate_by<Responses>,
          .body_schema = [] { return schema().json(); },
          .streams = true};
}

}  // namespace millrace::server::routes
