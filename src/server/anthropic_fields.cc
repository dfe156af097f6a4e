#include "server/anthropic_fields.h"

#include "server/limits.h"
#include "server/tool_fields.h"
#include "text/chat_request.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

// A string, or a list of text blocks; other kinds of blocks are refused by name.
Result<std::string> text_of(const Json& content, const std::string& path) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return GenerationSchema::wrong_type(path, "a string or a list of blocks");
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", path, i);
    const Json& block = content[i];
    if (!block.is_object() || block.value("type", Json()) != "text") {
      return GenerationSchema::wrong_type(where + ".type", "text: this model takes text only");
    }
    if (!block.value("text", Json()).is_string()) return GenerationSchema::wrong_type(where + ".text", "a string");
    text += (text.empty() ? "" : "\n") + block["text"].get_ref<const std::string&>();
  }
  return text;
}

// A message's blocks as messages of the OpenAI API: results of calls, which come first, and what is said.
class MessageReader {
 public:
  explicit MessageReader(const Json& earlier) : earlier_(earlier) {}

  Result<void> add(const Json& block, const std::string& path) {
    if (!block.is_object() || !block.value("type", Json()).is_string()) {
      return GenerationSchema::wrong_type(path, "a block with a type");
    }
    const std::string type = block["type"];
    if (type == "redacted_thinking") return {};
    if (type == "tool_use") return add_call(block, path);
    if (type == "tool_result") return add_result(block, path);
    if (type != "text" && type != "thinking") {
      return GenerationSchema::wrong_type(path + ".type",
                                          "text, thinking, tool_use or tool_result: this model takes text only");
    }
    const Json text = block.value(type, Json());
    if (!text.is_string()) return GenerationSchema::wrong_type(path + "." + type, "a string");
    std::string& to = type == "text" ? text_ : thinking_;
    to += (to.empty() ? "" : "\n") + text.get_ref<const std::string&>();
    return {};
  }
  void finish(const Json& role, Json& messages) {
    for (Json& result : results_) messages.push_back(std::move(result));
    if (text_.empty() && calls_.empty() && !results_.empty()) return;
    Json message = {{"role", role}, {"content", text_}};
    if (!thinking_.empty()) message["reasoning_content"] = thinking_;
    if (!calls_.empty()) message["tool_calls"] = std::move(calls_);
    messages.push_back(std::move(message));
  }

 private:
  Result<void> add_call(const Json& block, const std::string& path) {
    for (const char* member : {"id", "name"}) {
      if (!block.value(member, Json()).is_string())
        return GenerationSchema::wrong_type(path + "." + member, "a string");
    }
    const Json input = block.value("input", Json::object());
    if (!input.is_object()) return GenerationSchema::wrong_type(path + ".input", "an object");
    calls_.push_back(
        {{"id", block["id"]}, {"type", "function"}, {"function", {{"name", block["name"]}, {"arguments", input}}}});
    return {};
  }
  Result<void> add_result(const Json& block, const std::string& path) {
    const Json id = block.value("tool_use_id", Json());
    if (!id.is_string()) return GenerationSchema::wrong_type(path + ".tool_use_id", "a string");
    Json message = {{"role", "tool"}, {"tool_call_id", id}, {"content", ""}};
    if (const Json content = block.value("content", Json()); !content.is_null()) {
      auto text = text_of(content, path + ".content");
      if (!text) return text.error();
      message["content"] = std::move(*text);
    }
    for (const Json& message_before : earlier_) {  // some templates want the function's name
      for (const Json& call : message_before.value("tool_calls", Json::array())) {
        if (call["id"] == id) message["name"] = call["function"]["name"];
      }
    }
    results_.push_back(std::move(message));
    return {};
  }

  const Json& earlier_;
  std::string text_, thinking_;
  Json calls_ = Json::array(), results_ = Json::array();
};

Result<void> read_system(Fields& to, const Json& value) {
  auto text = text_of(value, "system");
  if (!text) return text.error();
  if (!text->empty()) to.system = std::move(*text);
  return {};
}

Result<void> read_messages(Fields& to, const Json& value) {
  if (!value.is_array() || value.empty())
    return GenerationSchema::wrong_type("messages", "a list of at least one message");
  Json messages = Json::array();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = fmt::format("messages[{}]", i);
    const Json& message = value[i];
    if (!message.is_object()) return GenerationSchema::wrong_type(path, "an object");
    const Json role = message.value("role", Json());
    if (role != "user" && role != "assistant") return GenerationSchema::wrong_type(path + ".role", "user or assistant");
    const Json content = message.value("content", Json());
    if (content.is_string()) {
      messages.push_back({{"role", role}, {"content", content}});
      continue;
    }
    if (!content.is_array()) return GenerationSchema::wrong_type(path + ".content", "a string or a list of blocks");
    MessageReader reader(messages);
    for (std::size_t b = 0; b < content.size(); ++b) {
      if (auto fine = reader.add(content[b], fmt::format("{}.content[{}]", path, b)); !fine) return fine;
    }
    reader.finish(role, messages);
  }
  to.messages = std::move(messages);
  return {};
}

Json tools_shape() {
  Json properties = function_shape();
  properties.erase("parameters");
  properties["input_schema"] = {{"type", "object"}};
  properties["type"] = {{"enum", {"custom", nullptr}}};
  const Json own = {{"type", "object"}, {"required", {"name", "input_schema"}}, {"properties", std::move(properties)}};
  const Json other = {{"type", "object"},
                      {"required", {"type"}},
                      {"properties", {{"type", {{"type", "string"}, {"not", {{"const", "custom"}}}}}}}};
  return {{"type", {"array", "null"}},
          {"items", {{"anyOf", Json::array({own, other})}}},
          {"maxItems", text::ChatLimits::kTools}};
}

// The client's own tools; those that Anthropic runs are taken, of no effect.
Result<void> read_anthropic_tools(Fields& to, const Json& value) {
  if (!value.is_array()) return GenerationSchema::wrong_type("tools", "a list");
  Json tools = Json::array();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    const Json& tool = value[i];
    if (!tool.is_object()) return GenerationSchema::wrong_type(path, "an object");
    const Json type = tool.value("type", Json());
    if (!type.is_null() && !type.is_string()) return GenerationSchema::wrong_type(path + ".type", "a string");
    if (!type.is_null() && type != "custom") continue;
    if (auto fine = check_tool_name(tool.value("name", Json()), path + ".name"); !fine) return fine;
    const Json input = tool.value("input_schema", Json());
    if (!input.is_object()) return GenerationSchema::wrong_type(path + ".input_schema", "a JSON schema");
    Json function = {{"name", tool["name"]}};
    for (const char* member : {"description", "strict"}) {
      if (tool.contains(member)) function[member] = tool[member];
    }
    function["parameters"] = input;
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return set_tools(to, std::move(tools));
}

Result<void> read_anthropic_choice(Fields& to, const Json& value) {
  const Json type = value.is_object() ? value.value("type", Json()) : Json();
  if (type == "auto" || type == "none") {
    to.tool_choice = type;
  } else if (type == "any") {
    to.tool_choice = "required";
  } else if (type == "tool") {
    to.tool_choice = {{"type", "function"}, {"name", value.value("name", Json())}};
  } else {
    return GenerationSchema::wrong_type("tool_choice.type", "auto, any, tool or none");
  }
  const Json single = value.value("disable_parallel_tool_use", Json());
  if (!single.is_null() && !single.is_boolean()) {
    return GenerationSchema::wrong_type("tool_choice.disable_parallel_tool_use", "true or false");
  }
  if (single == true) to.parallel_tool_calls = false;
  return {};
}

Result<void> read_thinking(Fields& to, const Json& value) {
  const Json type = value.is_object() ? value.value("type", Json()) : Json();
  if (type != "enabled" && type != "disabled" && type != "adaptive") {
    return GenerationSchema::wrong_type("thinking.type", "enabled, disabled or adaptive");
  }
  if (type != "adaptive") to.thinking = type == "enabled";
  const Json budget = value.value("budget_tokens", Json());
  if (budget.is_null()) return {};
  const auto tokens = GenerationSchema::whole(budget);
  if (!tokens || *tokens < 1) return GenerationSchema::wrong_type("thinking.budget_tokens", "an integer from 1");
  to.thinking_token_budget = *tokens;
  to.thinking_budget_is_wish = true;
  return {};
}

GenerationSchema make_schema(bool counts_only) {
  GenerationSchema s;
  const Json block = {{"type", "object"},
                      {"required", {"type"}},
                      {"properties", {{"type", {{"const", "text"}}}, {"text", {{"type", "string"}}}}}};
  const Json content = {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", block}}}}};
  s.field("messages", "The conversation so far",
          {{"type", "array"},
           {"minItems", 1},
           {"items",
            {{"type", "object"},
             {"required", {"role", "content"}},
             {"properties", {{"role", {{"enum", {"user", "assistant"}}}}, {"content", {{"type", "string"}}}}}}}},
          read_messages)
      .field("system", "What stands before it", content, read_system)
      .string(
          "model", [](Fields& f) -> auto& { return f.model; }, L::kNameLength, "Which of the models served")
      .field("tools", "Functions that the model may call; those that Anthropic runs are taken, of no effect",
             tools_shape(), read_anthropic_tools)
      .field("tool_choice", "auto, any, tool with a name, or none; disable_parallel_tool_use",
             {{"type", {"object", "null"}},
              {"required", {"type"}},
              {"properties", {{"type", {{"enum", {"auto", "any", "tool", "none"}}}}}}},
             read_anthropic_choice)
      .field("thinking", "Whether the model reasons, as far as its template has a switch; budget_tokens",
             {{"type", {"object", "null"}},
              {"required", {"type"}},
              {"properties", {{"type", {{"enum", {"enabled", "disabled", "adaptive"}}}}}}},
             read_thinking)
      .ignored("cache_control", "Taken, of no effect: prefixes are found by their tokens");
  s.required("messages");
  if (counts_only) return s;
  s.integer(
       "max_tokens", [](Fields& f) -> auto& { return f.max_tokens; }, 1, L::kMaxTokens, "Tokens of the answer")
      .field("stop_sequences", "The answer ends before the first of these",
             {{"type", {"array", "null"}},
              {"items", {{"type", "string"}, {"minLength", 1}, {"maxLength", L::kStopLength}}},
              {"maxItems", L::kStops}},
             [](Fields& f, const Json& value) -> Result<void> {
               if (!value.is_array()) return GenerationSchema::wrong_type("stop_sequences", "a list of strings");
               auto read = read_strings("stop_sequences", value, L::kStops, L::kStopLength);
               if (!read) return read.error();
               f.stop = std::move(*read);
               return {};
             })
      .number(
          "temperature", [](Fields& f) -> auto& { return f.temperature; }, {0.0, 1.0}, "0 = greedy")
      .number(
          "top_p", [](Fields& f) -> auto& { return f.top_p; }, {0.0, 1.0, true},
          "Draw from the smallest set of tokens with this probability")
      .integer(
          "top_k", [](Fields& f) -> auto& { return f.top_k; }, 0, L::kMaxTokens,
          "Draw from the k likeliest tokens; 0 = all")
      .boolean(
          "stream", [](Fields& f) -> auto& { return f.stream; }, "Server-sent events instead of one object")
      .ignored("metadata", "Taken, of no effect")
      .ignored("service_tier", "Taken, of no effect")
      .ignored("container", "Taken, of no effect")
      .ignored("context_management", "Taken, of no effect")
      .ignored("output_config", "Taken, of no effect");
  s.required("max_tokens");
  return s;
}

}  // namespace

const GenerationSchema& anthropic_schema(bool counts_only) {
  static const GenerationSchema all = make_schema(false), counting = make_schema(true);
  return counts_only ? counting : all;
}

Result<void> read_anthropic(const Json& body, bool counts_only, Fields& to, std::vector<std::string>& unknown) {
  if (auto fine = anthropic_schema(counts_only).read(body, to, unknown); !fine) return fine;
  add_system_message(to);
  if (to.messages.back()["role"] == "assistant") {  // the answer goes on from there, as the API has it
    to.add_generation_prompt = false;
    to.continue_final_message = true;
  }
  return {};
}

}  // namespace millrace::server
