#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chat/chat_format.h"
#include "checkpoint/checkpoint.h"

namespace millrace::app {

// The messages of a chat, and the prompt made of them: by the model's chat template, or as plain text for a model
// without one.
class Conversation {
 public:
  // Throws LoadError if the model has no tokenizer, or an invalid template.
  explicit Conversation(const checkpoint::Checkpoint& checkpoint);

  void set_system(const std::string& text);  // replaces or removes (empty) the system message
  void add_user(const std::string& text);
  void add_assistant(const std::string& text);
  bool pop_assistant();  // removes a trailing answer; false if there is none
  void pop_user();
  void clear();  // keeps the system message alone

  // The prompt for the next answer.
  Result<std::vector<std::int32_t>> prompt() const;
  // Messages as a JSON array in the form of OpenAI's API.
  const nlohmann::ordered_json& messages() const noexcept { return messages_; }

 private:
  void add(const char* role, const std::string& text);
  const checkpoint::Checkpoint& checkpoint_;
  std::shared_ptr<const chat::ChatFormat> format_;  // null: no chat template
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

}  // namespace millrace::app
