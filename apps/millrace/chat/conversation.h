#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chat/chat_format.h"
#include "checkpoint/checkpoint.h"

namespace millrace::app {

// The messages of a chat and how they become a prompt: through the model's chat template, or, for a model without one,
// as plain text to continue.
class Conversation {
 public:
  // Throws LoadError if the model has no tokenizer or a template of it does not work.
  explicit Conversation(const checkpoint::Checkpoint& checkpoint);

  void set_system(const std::string& text);  // replaces or removes (empty) the system message
  void add_user(const std::string& text);
  void add_assistant(const std::string& text);
  bool pop_assistant();  // removes a trailing answer; false if there is none
  void pop_user();
  void clear();  // all but the system message

  // The prompt that asks for the next answer.
  Result<std::vector<std::int32_t>> prompt() const;
  // Messages as a JSON array, as the OpenAI API spells them.
  const nlohmann::ordered_json& messages() const noexcept { return messages_; }

 private:
  void add(const char* role, const std::string& text);
  const checkpoint::Checkpoint& checkpoint_;
  std::shared_ptr<const chat::ChatFormat> format_;  // null: no chat template
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

}  // namespace millrace::app
