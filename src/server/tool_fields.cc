#include "server/tool_fields.h"

#include <algorithm>

#include "chat/chat_limits.h"
#include "chat/chat_request.h"
#include "server/limits.h"

namespace millrace::server {
namespace {

using L = RequestLimits;
using Choice = chat::tools::ToolUse::Choice;

Result<chat::tools::Tool> read_tool(const Json& tool, const std::string& path) {
  if (!tool.is_object()) return GenerationSchema::wrong_type(path, "an object");
  if (tool.value("type", Json()) != "function") return GenerationSchema::wrong_type(path + ".type", "\"function\"");
  const Json function = tool.value("function", Json());
  if (!function.is_object()) return GenerationSchema::wrong_type(path + ".function", "an object");
  chat::tools::Tool out;
  const Json name = function.value("name", Json());
  if (auto fine = check_tool_name(name, path + ".function.name"); !fine) return fine.error();
  out.name = name.get<std::string>();
  const Json description = function.value("description", Json());
  if (!description.is_null() && !description.is_string())
    return GenerationSchema::wrong_type(path + ".function.description", "a string");
  out.parameters = function.value("parameters", Json());
  if (!out.parameters.is_null() && !out.parameters.is_object()) {
    return GenerationSchema::wrong_type(path + ".function.parameters", "a JSON schema: an object");
  }
  if (const std::size_t bytes = dumped(out.parameters).size(); bytes > L::kGrammarBytes) {
    return make_error(ErrorCode::kInvalidArgument, path + ".function.parameters",
                      "{}.function.parameters has {} bytes: the limit is {}", path, bytes, L::kGrammarBytes);
  }
  const Json strict = function.value("strict", Json());
  if (!strict.is_null() && !strict.is_boolean())
    return GenerationSchema::wrong_type(path + ".function.strict", "true or false");
  out.strict = strict == true;
  return out;
}

// The name that a choice or a list of choices refers to.
Result<std::string> name_in(const Json& reference, const std::string& path, const chat::tools::ToolUse& use) {
  if (!reference.is_object() || reference.value("type", Json()) != "function") {
    return GenerationSchema::wrong_type(path, "an object of type function");
  }
  const Json function = reference.value("function", Json());
  const Json name = function.is_object() ? function.value("name", Json()) : reference.value("name", Json());
  if (!name.is_string()) return GenerationSchema::wrong_type(path + ".name", "a string");
  if (use.find(name.get_ref<const std::string&>()) == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, path, "{} names a function that tools does not have", path);
  }
  return name.get<std::string>();
}

void keep(chat::tools::ToolUse& use, const std::vector<std::string>& names) {
  std::erase_if(use.tools,
                [&](const chat::tools::Tool& tool) { return std::ranges::find(names, tool.name) == names.end(); });
}

Result<void> read_allowed(const Json& choice, chat::tools::ToolUse& use) {
  const Json inner = choice.value("allowed_tools", choice);
  const Json list = inner.is_object() ? inner.value("tools", Json()) : Json();
  const Json mode = inner.is_object() ? inner.value("mode", Json("auto")) : Json();
  if (mode != "auto" && mode != "required") return GenerationSchema::wrong_type("tool_choice.mode", "auto or required");
  if (!list.is_array() || list.empty())
    return GenerationSchema::wrong_type("tool_choice.tools", "a list of at least one function");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto name = name_in(list[i], fmt::format("tool_choice.tools[{}]", i), use);
    if (!name) return name.error();
    names.push_back(std::move(*name));
  }
  use.choice = mode == "required" ? Choice::kRequired : Choice::kAuto;
  keep(use, names);
  return {};
}

Result<void> resolve(const Json& choice, chat::tools::ToolUse& use) {
  if (choice.is_null() || choice == "auto") {
    use.choice = use.tools.empty() ? Choice::kNone : Choice::kAuto;
    return {};
  }
  if (choice == "none") {
    use.choice = Choice::kNone;
    return {};
  }
  if (use.tools.empty()) return make_error(ErrorCode::kInvalidArgument, "tool_choice", "tool_choice needs tools");
  if (choice == "required") {
    use.choice = Choice::kRequired;
    return {};
  }
  if (choice["type"] == "allowed_tools") return read_allowed(choice, use);
  auto name = name_in(choice, "tool_choice", use);
  if (!name) return name.error();
  use.choice = Choice::kRequired;
  use.named = true;
  use.parallel = false;
  keep(use, {*name});
  return {};
}

}  // namespace

Json function_shape() {
  return {{"name", {{"type", "string"}, {"pattern", fmt::format("^[a-zA-Z0-9_.-]{{1,{}}}$", L::kToolName)}}},
          {"description", {{"type", {"string", "null"}}}},
          {"parameters", {{"type", {"object", "null"}}}},
          {"strict", {{"type", {"boolean", "null"}}}}};
}

Json tool_choice_shape() {
  const Json words = {{"enum", {"none", "auto", "required", nullptr}}};
  const Json named = {{"type", "object"},
                      {"required", {"type"}},
                      {"properties", {{"type", {{"enum", {"function", "allowed_tools"}}}}}}};
  return {{"anyOf", Json::array({words, named})}};
}

Error reject_service_tool(const Json& type, const std::string& path) {
  const auto& name = type.get_ref<const std::string&>();
  const bool plain = name.size() <= 64 && std::ranges::all_of(name, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                     });
  return make_error(ErrorCode::kUnsupported, path + ".type", "{}.type is {}: {}, only functions of the client", path,
                    plain ? name : "no function", kNoToolsOfItsOwn);
}

void note_members(const Json& tool, std::initializer_list<std::string_view> known, FieldNotes& notes) {
  for (const auto& [name, value] : tool.items()) {
    if (!value.is_null() && std::ranges::find(known, name) == known.end()) notes.add("tools." + name);
  }
}

Result<void> check_tool_name(const Json& name, const std::string& path) {
  if (!name.is_string()) return GenerationSchema::wrong_type(path, "a string");
  const auto& text = name.get_ref<const std::string&>();
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '-' || c == '.';
  };
  if (text.empty() || text.size() > L::kToolName || !std::ranges::all_of(text, plain)) {
    return make_error(ErrorCode::kInvalidArgument, path, "{} must be 1 to {} letters, digits, '_', '-' and '.'", path,
                      L::kToolName);
  }
  return {};
}

Result<void> set_tools(GenerationFields& fields, Json tools) {
  if (!tools.is_array()) return GenerationSchema::wrong_type("tools", "a list");
  if (tools.size() > chat::ChatLimits::kTools) {
    return make_error(ErrorCode::kInvalidArgument, "tools", "tools has {} entries: the limit is {}", tools.size(),
                      chat::ChatLimits::kTools);
  }
  chat::tools::ToolUse& use = fields.tool_use;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    auto tool = read_tool(tools[i], path);
    if (!tool) return tool.error();
    if (use.find(tool->name) != nullptr) {
      return make_error(ErrorCode::kInvalidArgument, path, "{} has the name of a tool before it", path);
    }
    use.tools.push_back(std::move(*tool));
  }
  fields.tools = std::move(tools);
  return {};
}

Result<void> set_tool_choice(GenerationFields& fields, const Json& choice) {
  const bool word = choice == "none" || choice == "auto" || choice == "required";
  const Json type = choice.is_object() ? choice.value("type", Json()) : Json();
  if (!word && type != "function" && type != "allowed_tools") {
    return GenerationSchema::wrong_type("tool_choice",
                                        "none, auto, required or an object of type function or allowed_tools");
  }
  fields.tool_choice = Json(choice);
  return {};
}

Result<void> resolve_tool_choice(GenerationFields& fields) {
  chat::tools::ToolUse& use = fields.tool_use;
  use.parallel = fields.parallel_tool_calls;
  if (auto fine = resolve(fields.tool_choice, use); !fine) return fine;
  if (use.choice == Choice::kRequired && fields.constraint) {
    return make_error(ErrorCode::kInvalidArgument, fields.constraint->field,
                      "{} and a tool_choice that demands a call exclude each other", fields.constraint->field);
  }
  return {};
}

}  // namespace millrace::server
