#include "chat/tools/tool_prompt.h"

namespace millrace::chat::tools {
namespace {

std::string description_of(const Json& tools) {
  std::string text =
      "You may call functions. Their definitions, as JSON schemas, stand between <tools></tools>:\n<tools>";
  for (const Json& tool : tools) text += "\n" + dumped(tool.value("function", tool));
  text +=
      "\n</tools>\nTo call a function, answer with its name and arguments as JSON between "
      "<tool_call></tool_call>, one such pair for each call:\n<tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n"
      "</tool_call>";
  return text;
}

// Text and text, or text and parts.
Json with_text_after(Json content, const std::string& text) {
  if (content.is_array()) {
    content.push_back({{"type", "text"}, {"text", text}});
    return content;
  }
  if (!content.is_string()) return text;
  const auto& before = content.get_ref<const std::string&>();
  return before.empty() ? text : before + "\n\n" + text;
}

// Contents one after the other: text, or parts where one of them has parts.
Json joined(Json first, const Json& second) {
  if (second.is_string()) return with_text_after(std::move(first), second.get<std::string>());
  Json parts = first.is_array() ? std::move(first) : Json::array({{{"type", "text"}, {"text", std::move(first)}}});
  for (const Json& part : second) parts.push_back(part);
  return parts;
}

// What is no call as the API has it stays, for the template's reader to refuse.
bool well_formed(const Json& calls) {
  if (!calls.is_array() || calls.empty()) return false;
  for (const Json& call : calls) {
    if (!call.is_object() || !call.value("function", Json()).is_object() ||
        !call["function"].value("name", Json()).is_string()) {
      return false;
    }
  }
  return true;
}

std::string text_of(const Json& calls) {
  std::string text;
  for (const Json& call : calls) {
    const Json arguments = call["function"].value("arguments", Json("{}"));
    if (!text.empty()) text += '\n';
    text += "<tool_call>\n{\"name\": " + dumped(call["function"]["name"]) + ", \"arguments\": ";
    text += arguments.is_string() ? arguments.get<std::string>() : dumped(arguments);
    text += "}\n</tool_call>";
  }
  return text;
}

void spell_calls(Json& message) {
  const Json calls = message.value("tool_calls", Json());
  if (!well_formed(calls)) return;
  message["content"] = with_text_after(message.value("content", Json()), text_of(calls));
  message.erase("tool_calls");
}

// Results that follow one another become one message.
void add_result(Json& out, const Json& message) {
  const Json content = message.value("content", Json());
  std::string text;
  if (content.is_string()) text = content.get<std::string>();
  if (content.is_array()) {
    for (const Json& part : content) {
      const Json piece = part.is_object() ? part.value("text", Json()) : Json();
      if (piece.is_string()) text += (text.empty() ? "" : "\n") + piece.get<std::string>();
    }
  }
  const std::string response = "<tool_response>\n" + text + "\n</tool_response>";
  if (!out.empty() && out.back().contains("tool_results")) {
    out.back()["content"] = out.back()["content"].get<std::string>() + "\n" + response;
    return;
  }
  out.push_back({{"role", "user"}, {"content", response}, {"tool_results", true}});
}

// Where the template takes system messages first or not at all: those that follow the first belong to it, later ones
// are words of the user in their place, joined with what the user says there, as roles may have to take turns.
Json with_system_first(const Json& messages) {
  const auto role_of = [](const Json& m) { return m.is_object() ? m.value("role", Json()) : Json(); };
  const auto is_system = [&](const Json& m) { return role_of(m) == "system" || role_of(m) == "developer"; };
  Json out = Json::array();
  bool joins = false;  // the last of `out` was a system message, or ends with one
  for (const Json& message : messages) {
    const bool system = is_system(message) && !out.empty();
    const Json content = message.is_object() ? message.value("content", Json()) : Json();
    const bool after = !out.empty() && (system ? is_system(out.back()) || role_of(out.back()) == "user"
                                               : joins && role_of(message) == "user");
    if (after && (content.is_string() || content.is_array())) {
      out.back()["content"] = joined(out.back().value("content", Json()), content);
    } else {
      out.push_back(message);
      if (system) out.back()["role"] = "user";
    }
    joins = system && !is_system(out.back());
  }
  return out;
}

}  // namespace

Json spelled_out(const Json& messages, const Json& tools, const chat::TemplateCapabilities& capabilities) {
  Json out = Json::array();
  for (const Json& message : messages) {
    const bool is_object = message.is_object();
    if (is_object && !capabilities.tool_results && message.value("role", Json()) == "tool") {
      add_result(out, message);
      continue;
    }
    out.push_back(message);
    if (is_object && capabilities.tool_arguments == chat::ToolArguments::kNone) spell_calls(out.back());
  }
  for (Json& message : out) {
    if (message.is_object()) message.erase("tool_results");
  }
  if (!capabilities.later_system) out = with_system_first(out);
  if (capabilities.tools || !tools.is_array() || tools.empty()) return out;
  const std::string described = description_of(tools);
  if (!out.empty() && out[0].is_object() && out[0].value("role", Json()) == "system") {
    out[0]["content"] = with_text_after(out[0].value("content", Json()), described);
  } else if (capabilities.system_role || out.empty() || !out[0].is_object()) {
    out.insert(out.begin(), Json{{"role", "system"}, {"content", described}});
  } else {  // the template has no system message: the first message begins with it
    out[0]["content"] = with_text_after(
        described, out[0].value("content", Json()).is_string() ? out[0]["content"].get<std::string>() : std::string());
  }
  return out;
}

}  // namespace millrace::chat::tools
