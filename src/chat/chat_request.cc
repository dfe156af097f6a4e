#include "chat/chat_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "chat/chat_limits.h"
#include "chat/chat_message.h"
#include "chat/chat_rejection.h"

namespace millrace::chat {
namespace {

using Json = nlohmann::ordered_json;

// Names that mean something else, are the engine's own, or that Transformers' apply_chat_template takes itself.
constexpr std::string_view kReserved[] = {"messages",
                                          "tools",
                                          "documents",
                                          "add_generation_prompt",
                                          "bos_token",
                                          "eos_token",
                                          "chat_template",
                                          "chat_template_kwargs",
                                          "tokenize",
                                          "continue_final_message",
                                          "raise_exception",
                                          "strftime_now",
                                          "namespace",
                                          "range",
                                          "dict",
                                          "cycler",
                                          "joiner",
                                          "lipsum",
                                          "loop",
                                          "caller",
                                          "varargs",
                                          "kwargs",
                                          "self",
                                          "super"};

// Looks no deeper than the limit, so that whatever copies the value later recurses no deeper either.
bool deeper_than(const Json& value, int levels) {
  if (!value.is_structured()) return false;
  return levels == 0 ||
         std::any_of(value.begin(), value.end(), [&](const Json& item) { return deeper_than(item, levels - 1); });
}

// The list in a field of the request; null when it is absent, null or empty.
const Json* optional_list(const Json& request, const char* key, std::size_t limit) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) return nullptr;
  if (!found->is_array()) reject(key, "must be a list, not {}", found->type_name());
  if (found->size() > limit) reject(key, "has {} entries; at most {} are allowed", found->size(), limit);
  for (std::size_t i = 0; i < found->size(); ++i) {
    const std::string path = fmt::format("{}[{}]", key, i);
    if (!(*found)[i].is_object()) reject(path, "must be an object, not {}", (*found)[i].type_name());
    if (deeper_than((*found)[i], ChatLimits::kDepth)) {
      reject(path, "is nested more than {} levels deep", ChatLimits::kDepth);
    }
  }
  return found->empty() ? nullptr : &*found;
}

Json messages(const Json& request, const TemplateCapabilities& capabilities) {
  const Json* list = optional_list(request, "messages", ChatLimits::kMessages);
  if (!list) reject("messages", "is missing or empty; at least one message is needed");
  Json out = Json::array();
  for (std::size_t i = 0; i < list->size(); ++i) {
    out.push_back(normalized_message((*list)[i], fmt::format("messages[{}]", i), capabilities));
  }
  return out;
}

void check_tool(const Json& tool, const std::string& path) {
  const auto type = tool.find("type");
  if (type == tool.end() || *type != "function") reject(path + ".type", "must be \"function\"");
  const auto function = tool.find("function");
  if (function == tool.end() || !function->is_object()) reject(path + ".function", "must be an object");
  const auto name = function->find("name");
  if (name == function->end() || !name->is_string() || name->get_ref<const std::string&>().empty()) {
    reject(path + ".function.name", "must be a string that is not empty");
  }
  const auto parameters = function->find("parameters");
  if (parameters != function->end() && !parameters->is_null() && !parameters->is_object()) {
    reject(path + ".function.parameters", "must be a JSON schema, not {}", parameters->type_name());
  }
}

Json tool_list(const Json& request) {
  const Json* list = optional_list(request, "tools", ChatLimits::kTools);
  if (!list) return nullptr;
  for (std::size_t i = 0; i < list->size(); ++i) check_tool((*list)[i], fmt::format("tools[{}]", i));
  return *list;
}

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  const auto allowed = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 64 && (letter(name[0]) || name[0] == '_') &&
         std::all_of(name.begin(), name.end(), allowed);
}

void add_kwargs(const Json& request, Json& variables) {
  const auto found = request.find("chat_template_kwargs");
  if (found == request.end() || found->is_null()) return;
  if (!found->is_object()) reject("chat_template_kwargs", "must be an object, not {}", found->type_name());
  if (found->size() > ChatLimits::kKwargs) {
    reject("chat_template_kwargs", "has {} entries; at most {} are allowed", found->size(), ChatLimits::kKwargs);
  }
  for (const auto& [name, value] : found->items()) {
    if (!is_identifier(name))
      reject("chat_template_kwargs", "has the name {}; expected an identifier", client_string(name));
    const std::string path = "chat_template_kwargs." + name;
    if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
      reject(path, "is a reserved name");
    }
    if (value.is_structured()) reject(path, "must be a string, number, boolean or null, not {}", value.type_name());
    if (value.is_string() && value.get_ref<const std::string&>().size() > ChatLimits::kKwargBytes) {
      reject(path, "is longer than {} bytes", ChatLimits::kKwargBytes);
    }
    variables[name] = value;
  }
}

bool add_generation_prompt(const Json& request) {
  const auto found = request.find("add_generation_prompt");
  if (found == request.end() || found->is_null()) return true;
  if (!found->is_boolean()) reject("add_generation_prompt", "must be a boolean, not {}", found->type_name());
  return found->get<bool>();
}

}  // namespace

Result<Json> chat_variables(const Json& request, const TemplateCapabilities& capabilities) {
  try {
    if (!request.is_object()) reject("body", "must be an object, not {}", request.type_name());
    if (const auto own = request.find("chat_template"); own != request.end() && !own->is_null()) {
      reject("chat_template", "cannot be brought by a request");
    }
    const Json* documents = optional_list(request, "documents", ChatLimits::kDocuments);
    Json variables = {{"messages", messages(request, capabilities)},
                      {"tools", tool_list(request)},
                      {"documents", documents ? *documents : Json()},
                      {"add_generation_prompt", add_generation_prompt(request)}};
    add_kwargs(request, variables);
    return variables;
  } catch (const ChatRejection& rejection) {
    return rejection.error;
  }
}

}  // namespace millrace::chat
