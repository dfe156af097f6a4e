#include "runtime/chat_prompt.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "chat/tools/tool_prompt.h"

namespace millrace::runtime {
namespace {

std::int64_t unix_time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

std::shared_ptr<const chat::ChatFormat> load_chat_format(const checkpoint::Checkpoint& checkpoint) {
  if (checkpoint.chat_templates.empty()) return nullptr;
  return load_chat_format(checkpoint.chat_templates, *checkpoint.tokenizer);
}

std::shared_ptr<const chat::ChatFormat> load_chat_format(const chat::ChatTemplateSet& templates,
                                                         const text::Tokenizer& tokenizer) {
  const auto special = [&](std::optional<text::TokenId> id) {
    return id ? std::string(tokenizer.token_text(*id)) : "";
  };
  const chat::TemplateContext context{.bos_token = special(tokenizer.bos()), .eos_token = special(tokenizer.eos())};
  return chat::ChatFormat::load(templates, context).or_throw();
}

Result<std::vector<text::TextPiece>> render_chat(const chat::ChatFormat& format, nlohmann::ordered_json request) {
  const auto list = [&](const char* name) {
    const nlohmann::ordered_json found = request.is_object() ? request.value(name, nlohmann::ordered_json()) : nullptr;
    const bool good = found.is_array() && std::ranges::all_of(found, [](const auto& item) { return item.is_object(); });
    return good ? found : nullptr;  // anything else is for render() to refuse
  };
  const nlohmann::ordered_json messages = list("messages"), tools = list("tools");
  if (messages.is_array()) {
    const auto capabilities = format.capabilities(!tools.empty());
    if (!capabilities) return capabilities.error();
    const bool calls = request.value("tool_choice", nlohmann::ordered_json()) != "none";
    request["messages"] = chat::tools::spelled_out(messages, calls ? tools : nullptr, *capabilities);
    if (tools.is_array() && !capabilities->tools) request.erase("tools");
  }
  return format.render(request, unix_time_now());
}

}  // namespace millrace::runtime
