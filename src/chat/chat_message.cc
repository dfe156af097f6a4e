#include "chat/chat_message.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "chat/chat_limits.h"
#include "chat/chat_rejection.h"
#include "chat/chat_role.h"
#include "chat/jinja/json_format.h"
#include "chat/jinja/json_value.h"

namespace millrace::chat {
namespace {

using Json = nlohmann::ordered_json;

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const std::string& required_string(const Json& object, const char* key, const std::string& path) {
  const Json* value = find(object, key);
  if (!value) reject(path + "." + key, "is missing");
  if (!value->is_string()) reject(path + "." + key, "must be a string, not {}", value->type_name());
  return value->get_ref<const std::string&>();
}

std::string normalized_role(const Json& message, const std::string& path, const TemplateCapabilities& capabilities) {
  const std::string& role = required_string(message, "role", path);
  if (!is_chat_role(role)) reject(path + ".role", "is {}; expected one of {}", client_string(role), chat_role_list());
  return role == "developer" && !capabilities.developer_role ? "system" : role;
}

std::string part_text(const Json& part, const std::string& path) {
  if (!part.is_object()) reject(path, "must be an object, not {}", part.type_name());
  const std::string& type = required_string(part, "type", path);
  if (type == "text" || type == "refusal") return required_string(part, type.c_str(), path);
  static constexpr std::string_view kMedia[] = {"image",       "audio",       "video",     "file",      "image_url",
                                                "input_image", "input_audio", "audio_url", "video_url", "input_file"};
  if (std::find(std::begin(kMedia), std::end(kMedia), type) != std::end(kMedia)) {
    reject(path + ".type", "is {}; this model takes text only", client_string(type));
  }
  reject(path + ".type", "is {}; expected \"text\"", client_string(type));
}

Json text_part(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

Json content_of_parts(const Json& parts, const std::string& path, const TemplateCapabilities& capabilities) {
  if (parts.size() > ChatLimits::kParts) {
    reject(path, "has {} parts; at most {} are allowed", parts.size(), ChatLimits::kParts);
  }
  Json kept = Json::array();
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string text = part_text(parts[i], fmt::format("{}[{}]", path, i));
    if (capabilities.content_parts) {
      kept.push_back(text_part(std::move(text)));
    } else {
      joined += (i > 0 ? "\n" : "") + text;
    }
  }
  return capabilities.content_parts ? kept : Json(std::move(joined));
}

Json normalized_content(const Json& message, const std::string& role, const std::string& path,
                        const TemplateCapabilities& capabilities) {
  const Json* content = find(message, "content");
  const std::string at = path + ".content";
  if (!content) {
    if (role != "assistant" && role != "model") reject(at, "is missing; expected a string or a list of parts");
    return nullptr;
  }
  if (content->is_array()) return content_of_parts(*content, at, capabilities);
  if (!content->is_string()) reject(at, "must be a string or a list of parts, not {}", content->type_name());
  if (capabilities.content_strings) return *content;
  return Json::array({text_part(content->get<std::string>())});
}

// Beside tool calls templates differ on whether no content is null or "".
Json missing_content(bool has_calls, const TemplateCapabilities& capabilities) {
  if (has_calls && capabilities.null_content) return nullptr;
  return capabilities.content_strings ? Json("") : Json::array();
}

bool is_empty_content(const Json& content) {
  return content.is_null() || (content.is_string() && content.get_ref<const std::string&>().empty());
}

Json parsed_arguments(const std::string& text, const std::string& path) {
  bool too_deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > ChatLimits::kArgumentsDepth;
    return depth <= ChatLimits::kArgumentsDepth;
  };
  if (text.empty()) return Json::object();  // what models write for a function without parameters
  Json arguments = Json::parse(text, shallow, false);
  if (too_deep) reject(path, "is nested more than {} levels deep", ChatLimits::kArgumentsDepth);
  if (!arguments.is_object()) reject(path, "is not the text of a JSON object, which this model's template needs");
  return arguments;
}

// As Python's json.dumps writes it.
std::string arguments_text(const Json& arguments, const std::string& path) {
  const TemplateContext context;
  try {
    jinja::Runtime runtime({}, context);
    return std::string(jinja::to_json(runtime, jinja::from_json(runtime, arguments), {}).view());
  } catch (const jinja::Failure& failure) {
    reject(path, "cannot be written as text: {}", failure.message);
  }
}

// Text that a template takes as it is stays what the model once wrote, to the letter: a prefix cache knows it again.
Json normalized_arguments(const Json* arguments, const std::string& path, ToolArguments wanted) {
  if (!arguments) return wanted == ToolArguments::kString ? Json("{}") : Json::object();
  if (arguments->is_string()) {
    if (wanted != ToolArguments::kObject) return *arguments;
    return parsed_arguments(arguments->get_ref<const std::string&>(), path);
  }
  if (!arguments->is_object()) reject(path, "must be a string or an object, not {}", arguments->type_name());
  return wanted == ToolArguments::kString ? Json(arguments_text(*arguments, path)) : *arguments;
}

Json normalized_call(const Json& call, const std::string& path, ToolArguments wanted) {
  if (!call.is_object()) reject(path, "must be an object, not {}", call.type_name());
  if (const Json* type = find(call, "type"); type && *type != "function") {
    reject(path + ".type", "must be \"function\"");
  }
  const Json* function = find(call, "function");
  if (!function || !function->is_object()) reject(path + ".function", "must be an object with name and arguments");
  required_string(*function, "name", path + ".function");
  if (find(call, "id")) required_string(call, "id", path);
  Json out = call;
  out["type"] = "function";
  out["function"]["arguments"] =
      normalized_arguments(find(*function, "arguments"), path + ".function.arguments", wanted);
  return out;
}

std::optional<Json> normalized_calls(const Json& message, const std::string& path, ToolArguments wanted) {
  const Json* calls = find(message, "tool_calls");
  if (!calls) return std::nullopt;
  const std::string at = path + ".tool_calls";
  if (!calls->is_array()) reject(at, "must be a list, not {}", calls->type_name());
  if (calls->size() > ChatLimits::kToolCalls) {
    reject(at, "has {} calls; at most {} are allowed", calls->size(), ChatLimits::kToolCalls);
  }
  if (calls->empty()) return std::nullopt;
  Json out = Json::array();
  for (std::size_t i = 0; i < calls->size(); ++i) {
    out.push_back(normalized_call((*calls)[i], fmt::format("{}[{}]", at, i), wanted));
  }
  return out;
}

// Templates read the one name or the other; Transformers 5 fills in both.
void add_reasoning(const Json& message, const std::string& path, Json& out) {
  for (const char* key : {"reasoning_content", "thinking", "reasoning"}) {
    if (!find(message, key)) continue;
    const Json reasoning = required_string(message, key, path);
    if (!out.contains("thinking")) out["thinking"] = reasoning;
    out["reasoning_content"] = reasoning;
    return;
  }
}

// Where a template takes text or reasoning beside calls, text becomes the end of the reasoning.
void join_reasoning(const TemplateCapabilities& capabilities, Json& message) {
  if (capabilities.text_and_reasoning || !message.contains("tool_calls") || !message.contains("thinking")) return;
  Json& content = message["content"];
  if (!content.is_string() || content.get_ref<const std::string&>().empty()) return;
  const std::string reasoning = message["thinking"].get<std::string>();
  message["thinking"] =
      reasoning.empty() ? content.get<std::string>() : reasoning + "\n\n" + content.get<std::string>();
  message["reasoning_content"] = message["thinking"];
  content = missing_content(true, capabilities);
}

}  // namespace

Json normalized_message(const Json& message, const std::string& path, const TemplateCapabilities& capabilities) {
  if (!message.is_object()) reject(path, "must be an object, not {}", message.type_name());
  const std::string role = normalized_role(message, path, capabilities);
  const std::optional<Json> calls = normalized_calls(message, path, capabilities.tool_arguments);
  Json content = normalized_content(message, role, path, capabilities);
  const bool wants_null = calls && capabilities.null_content && !capabilities.empty_content;
  if (content.is_null() || (wants_null && is_empty_content(content))) {
    content = missing_content(calls.has_value(), capabilities);
  }
  Json out = {{"role", role}, {"content", std::move(content)}};
  for (const char* key : {"name", "tool_call_id"}) {
    if (find(message, key)) required_string(message, key, path);
  }
  for (const auto& [key, value] : message.items()) {
    // A template asks whether a key is there: null, as clients echo it, is to mean that it is not.
    if (!out.contains(key) && key != "tool_calls" && !value.is_null()) out[key] = value;
  }
  if (calls) out["tool_calls"] = *calls;
  add_reasoning(message, path, out);
  join_reasoning(capabilities, out);
  return out;
}

}  // namespace millrace::chat
