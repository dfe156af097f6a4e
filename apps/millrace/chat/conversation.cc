#include "chat/conversation.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace millrace::app {

using nlohmann::ordered_json;

void Conversation::set_system(const std::string& text) {
  if (has_system()) messages_.erase(0);
  if (text.empty()) return;
  ordered_json changed = ordered_json::array({{{"role", "system"}, {"content", text}}});
  for (auto& message : messages_) changed.push_back(std::move(message));
  messages_ = std::move(changed);
}

std::string Conversation::system() const { return has_system() ? messages_[0]["content"].get<std::string>() : ""; }

void Conversation::add_user(const std::string& text) { messages_.push_back({{"role", "user"}, {"content", text}}); }

void Conversation::add_assistant(const std::string& text, const std::string& reasoning) {
  messages_.push_back({{"role", "assistant"}, {"content", text}});
  if (!reasoning.empty()) messages_.back()["reasoning_content"] = reasoning;
}

bool Conversation::pop_assistant() {
  if (messages_.empty() || messages_.back()["role"] != "assistant") return false;
  messages_.erase(messages_.size() - 1);
  return true;
}

void Conversation::pop_user() {
  if (!messages_.empty() && messages_.back()["role"] == "user") messages_.erase(messages_.size() - 1);
}

void Conversation::clear() {
  while (messages_.size() > (has_system() ? 1u : 0u)) messages_.erase(messages_.size() - 1);
}

int Conversation::rounds() const {
  return static_cast<int>(std::ranges::count_if(messages_, [](const auto& one) { return one["role"] == "user"; }));
}

void Conversation::drop_oldest_round() {
  const std::size_t first = has_system() ? 1 : 0;
  bool seen = false;
  while (messages_.size() > first) {
    const bool user = messages_[first]["role"] == "user";
    if (user && seen) return;
    seen = seen || user;
    messages_.erase(first);
  }
}

std::string Conversation::last_of(const char* role, const char* field) const {
  for (std::size_t i = messages_.size(); i-- > 0;) {
    if (messages_[i]["role"] == role) return messages_[i].value(field, "");
  }
  return "";
}

std::string Conversation::to_json() const {
  return messages_.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<void> Conversation::replace_by(const std::string& json) {
  constexpr std::array<std::string_view, 3> kRoles = {"system", "user", "assistant"};
  ordered_json read = ordered_json::parse(json, nullptr, false);
  if (!read.is_array()) {
    return make_error(ErrorCode::kInvalidArgument, "messages", "it is not a JSON list of messages, as /save writes it");
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    const ordered_json& message = read[i];
    const auto is_text = [&](const char* field) { return message.contains(field) && message[field].is_string(); };
    if (!message.is_object() || !is_text("content")) {
      return make_error(ErrorCode::kInvalidArgument, "content", "messages[{}].content must be a string", i);
    }
    if (!is_text("role") || std::ranges::find(kRoles, message["role"].get<std::string>()) == kRoles.end()) {
      return make_error(ErrorCode::kInvalidArgument, "role", "messages[{}].role must be system, user or assistant", i);
    }
    if (message["role"] == "system" && i > 0) {
      return make_error(ErrorCode::kInvalidArgument, "role", "messages[{}].role is system: only the first may be", i);
    }
    if (message.contains("reasoning_content") && !is_text("reasoning_content")) {
      return make_error(ErrorCode::kInvalidArgument, "reasoning_content",
                        "messages[{}].reasoning_content must be a string", i);
    }
  }
  messages_ = std::move(read);
  return {};
}

}  // namespace millrace::app
