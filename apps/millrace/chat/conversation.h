#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace millrace::app {

// The messages of a chat. A round is a message of the user with the answer to it, if there is one yet. One thread.
class Conversation {
 public:
  void set_system(const std::string& text);  // replaces or removes (empty) the system message
  std::string system() const;                // empty: there is none
  void add_user(const std::string& text);
  void add_assistant(const std::string& text, const std::string& reasoning);  // reasoning may be empty
  bool pop_assistant();      // removes a trailing answer; false if there is none
  void pop_user();           // removes a trailing user message, if there is one
  void clear();              // removes all messages except the system message
  int rounds() const;        // number of messages of the user
  void drop_oldest_round();  // all messages before the second message of the user, except the system message

  // Texts of the last answer, its reasoning and the last message of the user; empty: there is none.
  std::string last_answer() const { return last_of("assistant", "content"); }
  std::string last_reasoning() const { return last_of("assistant", "reasoning_content"); }
  std::string last_user() const { return last_of("user", "content"); }

  // A JSON array of {"role", "content"}, as in the OpenAI API; an answer may have "reasoning_content".
  const nlohmann::ordered_json& messages() const noexcept { return messages_; }
  std::string to_json() const;  // text of messages(), to be read by replace_by()
  // Takes messages from such text. kInvalidArgument names the message and the field; the conversation is unchanged.
  Result<void> replace_by(const std::string& json);

 private:
  bool has_system() const { return !messages_.empty() && messages_[0]["role"] == "system"; }
  std::string last_of(const char* role, const char* field) const;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

}  // namespace millrace::app
