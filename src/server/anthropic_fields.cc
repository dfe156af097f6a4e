#include "server/anthropic_fields.h"

#include "chat/chat_limits.h"
#include "chat/chat_request.h"
#include "server/billing_header.h"
#include "server/constraint_fields.h"
#include "server/limits.h"
#include "server/reasoning_fields.h"
#include "server/tool_fields.h"

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

// The header of Claude Code comes as the first line, or as a block of its own.
Result<void> read_system(Fields& to, const Json& value) {
  auto text = text_of(value, "system");
  if (!text) return text.error();
  const std::size_t header = billing_header_bytes(*text);
  to.billing_header = text->substr(0, header);
  to.system = text->substr(header);
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
    if (role != "user" && role != "assistant" && role != "system") {
      return GenerationSchema::wrong_type(path + ".role", "user, assistant or system");
    }
    const Json content = message.value("content", Json());
    if (content.is_string()) {
      messages.push_back({{"role", role}, {"content", content}});
      continue;
    }
    if (role == "system") {
      auto text = text_of(content, path + ".content");
      if (!text) return text.error();
      messages.push_back({{"role", role}, {"content", std::move(*text)}});
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

Json anthropic_tools_shape() {
  Json properties = function_shape();
  properties.erase("parameters");
  properties["input_schema"] = {{"type", "object"}};
  properties["type"] = {{"enum", {"custom", nullptr}}};
  const Json own = {{"type", "object"}, {"required", {"name", "input_schema"}}, {"properties", std::move(properties)}};
  return {{"type", {"array", "null"}}, {"items", own}, {"maxItems", chat::ChatLimits::kTools}};
}

// The client's own tools. Those that Anthropic runs, or whose arguments only its models know, are refused.
Result<void> read_anthropic_tools(Fields& to, const Json& value, FieldNotes& notes) {
  if (!value.is_array()) return GenerationSchema::wrong_type("tools", "a list");
  Json tools = Json::array();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    const Json& tool = value[i];
    if (!tool.is_object()) return GenerationSchema::wrong_type(path, "an object");
    const Json type = tool.value("type", Json());
    if (!type.is_null() && !type.is_string()) return GenerationSchema::wrong_type(path + ".type", "a string");
    if (!type.is_null() && type != "custom") return reject_service_tool(type, path);
    note_members(tool, {"type", "name", "description", "input_schema", "strict", "cache_control"}, notes);
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

Result<void> read_thinking_type(Fields& to, const Json& type) {
  if (type != "enabled" && type != "disabled" && type != "adaptive") {
    return GenerationSchema::wrong_type("thinking.type", "enabled, disabled or adaptive");
  }
  if (type != "adaptive") to.thinking = type == "enabled";
  return {};
}

Result<void> read_thinking_budget(Fields& to, const Json& budget) {
  const auto tokens = GenerationSchema::whole(budget);
  if (!tokens || *tokens < 1) return GenerationSchema::wrong_type("thinking.budget_tokens", "an integer from 1");
  to.thinking_token_budget = tokens;
  to.thinking_budget_is_wish = true;
  return {};
}

// {"type": "json_schema", "schema"}
Result<void> read_output_format(Fields& to, const std::string& name, const Json& value) {
  if (!value.is_object() || value.value("type", Json()) != "json_schema") {
    return GenerationSchema::wrong_type(name + ".type", "json_schema");
  }
  return read_response_format(to, name, value, true);
}

Json output_format_shape() {
  return {
      {"type", {"object", "null"}},
      {"required", {"type", "schema"}},
      {"properties", {{"type", {{"const", "json_schema"}}}, {"schema", {{"type", {"object", "boolean", "string"}}}}}}};
}

// As the API orders them: max is above xhigh.
Result<void> read_anthropic_effort(Fields& to, const Json& value) {
  return read_effort(to, "output_config.effort", value == "max" ? Json("xhigh") : value);
}

void add_output_fields(GenerationSchema& s) {
  s.object("output_config", "Format of the completion, and how much the model reasons")
      .field("output_config.format", "Format of the completion: json_schema with a schema that it fits",
             output_format_shape(),
             [](Fields& f, const Json& value) { return read_output_format(f, "output_config.format", value); })
      .field("output_config.effort",
             "Effort of reasoning: low, medium, high, xhigh or max, as far as the model's template has a switch",
             {{"enum", {"none", "minimal", "low", "medium", "high", "xhigh", "max"}}}, read_anthropic_effort)
      .field("output_format", "Alias of output_config.format (older name)", output_format_shape(),
             [](Fields& f, const Json& value) { return read_output_format(f, "output_format", value); });
}

// What Anthropic's own service does besides.
void add_anthropic_not_done(GenerationSchema& s) {
  const Json keep_all = {{"type", "clear_thinking_20251015"}, {"keep", "all"}};
  s.listed("metadata", "the server knows its clients by their keys", {{"type", "object"}})
      .listed("service_tier", "there is one tier", {{"enum", {"auto", "standard_only"}}})
      .rejected("container", "this server runs no code")
      .rejected("mcp_servers", kNoToolsOfItsOwn, {Json::array()})
      .rejected("context_management", "the client keeps the conversation",
                {Json::object(), {{"edits", Json::array()}}, {{"edits", Json::array({keep_all})}}});
}

Result<void> read_stop_sequences(Fields& to, const Json& value) {
  if (!value.is_array()) return GenerationSchema::wrong_type("stop_sequences", "a list of strings");
  auto read = read_strings("stop_sequences", value, L::kStops, L::kStopLength);
  if (!read) return read.error();
  to.stop = std::move(*read);
  return {};
}

GenerationSchema make_schema(bool counts_only) {
  GenerationSchema s;
  const Json block = {{"type", "object"},
                      {"required", {"type"}},
                      {"properties", {{"type", {{"const", "text"}}}, {"text", {{"type", "string"}}}}}};
  const Json content = {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", block}}}}};
  s.field(
       "messages", "Messages of the conversation so far",
       {{"type", "array"},
        {"minItems", 1},
        {"items",
         {{"type", "object"},
          {"required", {"role", "content"}},
          {"properties", {{"role", {{"enum", {"user", "assistant", "system"}}}}, {"content", {{"type", "string"}}}}}}}},
       read_messages)
      .field("system", "System prompt that stands before the conversation", content, read_system)
      .string(
          "model", [](Fields& f) -> auto& { return f.model; }, L::kNameLength,
          "Name of a model that this server serves")
      .field("tools", "Functions that the model may call", anthropic_tools_shape(), read_anthropic_tools)
      .field("tool_choice", "Use of tools: auto, any, tool with a name, or none; with disable_parallel_tool_use",
             {{"type", {"object", "null"}},
              {"required", {"type"}},
              {"properties", {{"type", {{"enum", {"auto", "any", "tool", "none"}}}}}}},
             read_anthropic_choice)
      .object("thinking", "Whether the model reasons, as far as its template has a switch")
      .field("thinking.type", "Kind of thinking: enabled, disabled or adaptive",
             {{"enum", {"enabled", "disabled", "adaptive"}}}, read_thinking_type)
      .field("thinking.budget_tokens", "Max tokens of reasoning, where the model marks its end",
             {{"type", {"integer", "null"}}, {"minimum", 1}}, read_thinking_budget)
      .listed("thinking.display", "reasoning is shown as it is", {{"enum", {"summarized", "omitted"}}})
      .listed("cache_control", "prefixes are found by their tokens", {{"type", "object"}})
      .required("thinking.type");
  s.required("messages");
  if (counts_only) return s;
  s.integer(
       "max_tokens", [](Fields& f) -> auto& { return f.max_tokens; }, 1, L::kMaxTokens, "Max tokens of the completion")
      .field("stop_sequences", "Stop strings: the completion ends before the first of them",
             {{"type", {"array", "null"}},
              {"items", {{"type", "string"}, {"minLength", 1}, {"maxLength", L::kStopLength}}},
              {"maxItems", L::kStops}},
             read_stop_sequences);
  add_sampler_field(s, {.name = "temperature", .high = 1.0, .help = "0 = greedy"});
  add_sampler_field(
      s, {.name = "top_p",
          .high = 1.0,
          .above_low = true,
          .help = "Sample from the smallest set of tokens that together have this probability (nucleus sampling)"});
  add_sampler_field(s, {.name = "top_k",
                        .kind = OptionSpec::Kind::kWhole,
                        .high = static_cast<double>(L::kMaxTokens),
                        .help = "Sample from the k most likely tokens; 0 = all"});
  s.boolean(
      "stream", [](Fields& f) -> auto& { return f.stream; },
      "Stream the completion as server-sent events instead of one object");
  add_output_fields(s);
  add_anthropic_not_done(s);
  s.required("max_tokens");
  return s;
}

}  // namespace

const GenerationSchema& anthropic_schema(bool counts_only) {
  static const GenerationSchema counting = make_schema(true), all = [] {
    GenerationSchema s = make_schema(false);
    add_adapter_fields(s);
    return s;
  }();
  return counts_only ? counting : all;
}

Result<void> read_anthropic(const Json& body, bool counts_only, Fields& to, FieldNotes& notes) {
  if (auto fine = anthropic_schema(counts_only).read(body, to, notes); !fine) return fine;
  if (to.messages.back()["role"] == "assistant") {  // the answer goes on from there, as the API has it
    to.add_generation_prompt = false;
    to.continue_final_message = true;
  }
  return {};
}

}  // namespace millrace::server
