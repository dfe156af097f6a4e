#include "chat/conversation.h"

#include <nlohmann/json.hpp>

#include "runtime/chat_prompt.h"

namespace millrace::app {
Conversation::Conversation(const checkpoint::Checkpoint& checkpoint) : checkpoint_(checkpoint) {
  if (checkpoint.tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", checkpoint.path);
  }
  format_ = runtime::load_chat_format(checkpoint);
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
  const auto pieces = runtime::render_chat(*format_, {{"messages", messages_}});
  if (!pieces) return pieces.error();
  return tokenizer.encode(*pieces, false);  // the template writes its own BOS
}

}  // namespace millrace::app
