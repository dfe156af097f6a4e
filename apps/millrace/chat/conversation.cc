#include "chat/conversation.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "chat/tools/tool_prompt.h"

namespace millrace::app {
namespace {

std::int64_t unix_time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

std::shared_ptr<const chat::ChatFormat> load_chat_format(const checkpoint::Checkpoint& checkpoint) {
  if (checkpoint.chat_templates.empty()) return nullptr;
  const text::Tokenizer& tokenizer = *checkpoint.tokenizer;
  const auto special = [&](std::optional<text::TokenId> id) {
    return id ? std::string(tokenizer.token_text(*id)) : "";
  };
  const chat::TemplateContext context{.bos_token = special(tokenizer.bos()), .eos_token = special(tokenizer.eos())};
  return chat::ChatFormat::load(checkpoint.chat_templates, context).or_throw();
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

Conversation::Conversation(const checkpoint::Checkpoint& checkpoint) : checkpoint_(checkpoint) {
  if (checkpoint.tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", checkpoint.path);
  }
  format_ = load_chat_format(checkpoint);
}

void Conversation::add(const char* role, const std::string& text) {
  messages_.push_back({{"role", role}, {"content", text}});
}

void Conversation::set_system(const std::string& text) {
  if (!messages_.empty() && messages_[0]["role"] == "system") messages_.erase(0);
  if (text.empty()) return;
  nlohmann::ordered_json changed = nlohmann::ordered_json::array({{{"role", "system"}, {"content", text}}});
  for (auto& message : messages_) changed.push_back(std::move(message));
  messages_ = std::move(changed);
}

void Conversation::add_user(const std::string& text) { add("user", text); }
void Conversation::add_assistant(const std::string& text) { add("assistant", text); }

bool Conversation::pop_assistant() {
  if (messages_.empty() || messages_.back()["role"] != "assistant") return false;
  messages_.erase(messages_.size() - 1);
  return true;
}

void Conversation::pop_user() {
  if (!messages_.empty() && messages_.back()["role"] == "user") messages_.erase(messages_.size() - 1);
}

void Conversation::clear() {
  const bool has_system = !messages_.empty() && messages_[0]["role"] == "system";
  while (messages_.size() > (has_system ? 1u : 0u)) messages_.erase(messages_.size() - 1);
}

Result<std::vector<std::int32_t>> Conversation::prompt() const {
  const text::Tokenizer& tokenizer = *checkpoint_.tokenizer;
  if (format_ == nullptr) {
    std::string text;
    for (const auto& message : messages_) text += message["content"].get<std::string>();
    return tokenizer.encode(text, true, false);
  }
  const auto pieces = render_chat(*format_, {{"messages", messages_}});
  if (!pieces) return pieces.error();
  return tokenizer.encode(*pieces, false);  // the template writes its own BOS
}

}  // namespace millrace::app
