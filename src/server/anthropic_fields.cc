#include "server/anthropic_fields.h"

#include "server/limits.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

// A string, or a list of text blocks; other kinds of blocks are refused by name, thinking is left out.
Result<std::string> text_of(const Json& content, const std::string& path) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return GenerationSchema::wrong_type(path, "a string or a list of blocks");
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", path, i);
    const Json& block = content[i];
    if (!block.is_object() || !block.contains("type") || !block["type"].is_string()) {
      return GenerationSchema::wrong_type(where, "a block with a type");
    }
    const std::string type = block["type"];
    if (type == "thinking" || type == "redacted_thinking") continue;
    if (type == "tool_result") {
      if (!block.contains("content") || block["content"].is_null()) continue;
      auto inner = text_of(block["content"], where + ".content");
      if (!inner) return inner;
      text += (text.empty() ? "" : "\n") + *inner;
      continue;
    }
    if (type == "tool_use") {
      text += (text.empty() ? "" : "\n") + dumped(block.value("input", Json::object()));
      continue;
    }
    if (type != "text") return GenerationSchema::wrong_type(where + ".type", "text: this model takes text only");
    if (!block.contains("text") || !block["text"].is_string())
      return GenerationSchema::wrong_type(where + ".text", "a string");
    text += (text.empty() ? "" : "\n") + block["text"].get_ref<const std::string&>();
  }
  return text;
}

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
    auto text = text_of(message.value("content", Json()), path + ".content");
    if (!text) return text.error();
    messages.push_back({{"role", role}, {"content", std::move(*text)}});
  }
  to.messages = std::move(messages);
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
      .field("tools", "Not yet supported, refused unless empty", {{"type", {"array", "null"}}, {"maxItems", 0}},
             [](Fields&, const Json& value) -> Result<void> {
               if (!value.is_array()) return GenerationSchema::wrong_type("tools", "a list");
               if (value.empty()) return {};
               return make_error(ErrorCode::kUnsupported, "tools", "tools: this version makes no tool calls");
             })
      .ignored("tool_choice", "Taken, of no effect without tools")
      .ignored("thinking", "Taken, of no effect")
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
