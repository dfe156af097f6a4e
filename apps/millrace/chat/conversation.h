#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chat/chat_format.h"
#include "checkpoint/checkpoint.h"

namespace millrace::app {

// The messages of a chat, and their conversion to a prompt by the model's chat template. A model without a template
// gets the contents one after the other, as plain text to continue. The checkpoint must outlive it. One thread.
class Conversation {
 public:
  // Throws LoadError: kUnsupported if the model has no tokenizer, kBadFile if a chat template does not work.
  explicit Conversation(const checkpoint::Checkpoint& checkpoint);

  void set_system(const std::string& text);  // replaces or removes (empty) the system message
  void add_user(const std::string& text);
  void add_assistant(const std::string& text);
  bool pop_assistant();  // removes a trailing answer; false if there is none
  void pop_user();       // removes a trailing user message, if there is one
  void clear();          // removes all messages except the system message

  // The tokens of the prompt for the next answer. The error is the template's.
  Result<std::vector<std::int32_t>> prompt() const;
  // A JSON array of {"role", "content"}, as in the OpenAI API.
  const nlohmann::ordered_json& messages() const noexcept { return messages_; }

 private:
  void add(const char* role, const std::string& text);
  const checkpoint::Checkpoint& checkpoint_;
  std::shared_ptr<const chat::ChatFormat> format_;  // null: no chat template
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

}  // namespace millrace::app
