#include "chat/chat_limits.h"
#include "chat/chat_request.h"
#include "server/constraint_fields.h"
#include "server/formats/responses_format.h"
#include "server/generation_handler.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/reasoning_fields.h"
#include "server/route.h"
#include "server/tool_fields.h"

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

// Calls that follow one another are one message of the assistant, and so is the text before them.
Result<void> add_call(Json& messages, const Json& item, const std::string& path) {
  for (const char* member : {"call_id", "name", "arguments"}) {
    if (!item.value(member, Json()).is_string()) return GenerationSchema::wrong_type(path + "." + member, "a string");
  }
  if (messages.empty() || messages.back()["role"] != "assistant") {
    messages.push_back({{"role", "assistant"}, {"content", nullptr}});
  }
  messages.back()["tool_calls"].push_back({{"id", item["call_id"]},
                                           {"type", "function"},
                                           {"function", {{"name", item["name"]}, {"arguments", item["arguments"]}}}});
  return {};
}

Result<void> add_call_output(Json& messages, const Json& item, const std::string& path) {
  const Json id = item.value("call_id", Json());
  if (!id.is_string()) return GenerationSchema::wrong_type(path + ".call_id", "a string");
  auto text = text_of(item.value("output", Json()), path + ".output");
  if (!text) return text.error();
  Json message = {{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(*text)}};
  for (const Json& earlier : messages) {  // some templates want the function's name
    for (const Json& call : earlier.value("tool_calls", Json::array())) {
      if (call["id"] == id) message["name"] = call["function"]["name"];
    }
  }
  messages.push_back(std::move(message));
  return {};
}

Result<void> add_message(Json& messages, const Json& item, const std::string& path) {
  const Json role = item.value("role", Json());
  if (role != "user" && role != "assistant" && role != "system" && role != "developer") {
    return GenerationSchema::wrong_type(path + ".role", "user, assistant, system or developer");
  }
  auto text = text_of(item.value("content", Json()), path + ".content");
  if (!text) return text.error();
  messages.push_back({{"role", role}, {"content", std::move(*text)}});
  return {};
}

// A text, or a list of messages, calls and their outputs; reasoning of earlier rounds is left out.
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
    Result<void> added;
    if (type == "message") {
      added = add_message(messages, item, path);
    } else if (type == "function_call") {
      added = add_call(messages, item, path);
    } else if (type == "function_call_output") {
      added = add_call_output(messages, item, path);
    } else {
      return GenerationSchema::wrong_type(path + ".type", "message, function_call, function_call_output or reasoning");
    }
    if (!added) return added;
  }
  if (messages.empty()) return GenerationSchema::wrong_type("input", "a list that holds a message");
  to.messages = std::move(messages);
  return {};
}

// Functions become as the chat API spells them.
Result<void> read_flat_tools(Fields& to, const Json& value, FieldNotes& notes) {
  if (!value.is_array()) return GenerationSchema::wrong_type("tools", "a list");
  Json tools = Json::array();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    const Json& tool = value[i];
    if (!tool.is_object()) return GenerationSchema::wrong_type(path, "an object");
    if (!tool.value("type", Json()).is_string()) return GenerationSchema::wrong_type(path + ".type", "a string");
    if (tool["type"] != "function") return reject_service_tool(tool["type"], path);
    note_members(tool, {"type", "name", "description", "parameters", "strict"}, notes);
    if (auto fine = check_tool_name(tool.value("name", Json()), path + ".name"); !fine) return fine;
    Json function = Json::object();
    for (const char* member : {"name", "description", "parameters", "strict"}) {
      if (tool.contains(member) && !tool[member].is_null()) function[member] = tool[member];
    }
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return set_tools(to, std::move(tools));
}

Json flat_tools_shape() {
  Json properties = {{"type", {{"const", "function"}}}};
  properties.update(function_shape());
  const Json function = {{"type", "object"}, {"required", {"type", "name"}}, {"properties", std::move(properties)}};
  return {{"type", {"array", "null"}}, {"items", function}, {"maxItems", chat::ChatLimits::kTools}};
}

Result<void> read_text_format(Fields& to, const Json& value) {
  to.text_format = value;
  return read_response_format(to, "text.format", value, true);
}

Result<void> read_truncation(Fields& to, const Json& value) {
  if (value != "auto" && value != "disabled") return GenerationSchema::wrong_type("truncation", "auto or disabled");
  to.truncate_conversation = value == "auto";
  return {};
}

// What may come in an answer besides. Reasoning needs no cipher to come back: it is left out of later prompts.
Result<void> read_include(Fields&, const Json& value, FieldNotes& notes) {
  if (!value.is_array()) return GenerationSchema::wrong_type("include", "a list of strings");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != "reasoning.encrypted_content") {
      return make_error(ErrorCode::kUnsupported, "include",
                        "include[{}] is not supported: expected reasoning.encrypted_content", i);
    }
    notes.add("include");
  }
  return {};
}

void add_responses_not_done(GenerationSchema& s) {
  const Json summaries = {{"enum", {"auto", "concise", "detailed"}}};
  s.field("include",
          "Parts to include in the response; reasoning.encrypted_content is accepted and ignored, as reasoning is "
          "shown as it is",
          {{"type", {"array", "null"}},
           {"items", {{"enum", {"reasoning.encrypted_content"}}}},
           {"x-not-done", "listed"},
           {"x-neutral", {Json::array()}}},
          read_include)
      .listed("text.verbosity", "the template has no switch for it", {{"enum", {"low", "medium", "high"}}}, {"medium"})
      .listed("reasoning.summary", "reasoning is shown as it is", summaries)
      .listed("reasoning.generate_summary", "reasoning is shown as it is", summaries)
      .listed("max_tool_calls", "it counts calls of tools that the service runs", {{"type", "integer"}})
      .object("stream_options", "What a stream sends beside the completion")
      .listed("stream_options.include_obfuscation", "events have no padding", {{"type", "boolean"}}, {false})
      .rejected("previous_response_id", "this server keeps no responses; send the conversation")
      .rejected("conversation", "this server keeps no conversations; send it")
      .rejected("prompt", "this server keeps no prompts; send it")
      .rejected("background", "this server keeps no responses", {false});
}

const GenerationSchema& responses_schema() {
  static const GenerationSchema made = [] {
    GenerationSchema s;
    const Json message = {{"type", "object"},
                          {"required", {"role", "content"}},
                          {"properties",
                           {{"type", {{"const", "message"}}},
                            {"role", {{"enum", {"user", "assistant", "system", "developer"}}}},
                            {"content", {{"type", "string"}}}}}};
    s.field("input", "A text, or the messages of the conversation so far",
            {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"minItems", 1}, {"items", message}}}}}, read_input)
        .string(
            "instructions", [](Fields& f) -> auto& { return f.system; }, std::size_t{1} << 20,
            "System prompt that stands before the conversation")
        .integer(
            "max_output_tokens", [](Fields& f) -> auto& { return f.max_tokens; }, 1, L::kMaxTokens,
            "Max tokens of the completion; default: what fits the context")
        .field("tools", "Functions that the model may call", flat_tools_shape(), read_flat_tools)
        .field("tool_choice", "Use of tools: none, auto, required, or an object that names one function or several",
               tool_choice_shape(), set_tool_choice)
        .boolean(
            "parallel_tool_calls", [](Fields& f) -> auto& { return f.parallel_tool_calls; },
            "Whether a completion may have several tool calls")
        .object("text", "Format of the completion")
        .field("text.format", "Format of the completion: text, json_object, json_schema {name, schema, strict}",
               {{"type", {"object", "null"}}}, read_text_format)
        .object("reasoning", "How much the model reasons")
        .field("reasoning.effort",
               "Effort of reasoning: none, minimal, low, medium, high or xhigh, as far as the template has a switch",
               {{"enum", {"none", "minimal", "low", "medium", "high", "xhigh"}}},
               [](Fields& f, const Json& value) { return read_effort(f, "reasoning.effort", value); })
        .field("truncation",
               "Handling of conversations longer than the context; auto: drop the oldest turns; disabled: an error",
               {{"enum", {"auto", "disabled", nullptr}}}, read_truncation);
    add_responses_not_done(s);
    add_sampling_fields(s);
    add_adapter_fields(s);
    s.boolean(
        "stream", [](Fields& f) -> auto& { return f.stream; },
        "Stream the completion as server-sent events instead of one object");
    add_serving_fields(s);
    s.required("input");
    return s;
  }();
  return made;
}

class Responses final : public GenerationRoute {
 public:
  Result<void> read(const Json& body, Fields& to, FieldNotes& notes) const override {
    return responses_schema().read(body, to, notes);
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
          .summary = "Generate the next message of a conversation (OpenAI Responses)",
          .handle = generation_route<Responses>,
          .reader = task_reader<Responses>,
          .body_schema = [] { return responses_schema().json(); },
          .streams = true};
}

}  // namespace millrace::server::routes
