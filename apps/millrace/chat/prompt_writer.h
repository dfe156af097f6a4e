#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_format.h"
#include "checkpoint/checkpoint.h"

namespace millrace::app {

// Makes prompts of conversations by the model's chat template. A model without a template gets the contents one after
// the other, as plain text to continue. The checkpoint must outlive it. Immutable.
class PromptWriter {
 public:
  // Throws LoadError: kUnsupported if the model has no tokenizer, kBadFile if a chat template does not work.
  explicit PromptWriter(const checkpoint::Checkpoint& checkpoint);

  struct Prompt {
    std::vector<std::int32_t> tokens;
    bool thinking = false;  // it has opened the reasoning of the answer
  };
  // The prompt for the next answer to these messages. The error is the template's.
  Result<Prompt> prompt(const nlohmann::ordered_json& messages) const;
  // The tokens of the prompt of one message of the user. Throws LoadError.
  std::vector<std::int32_t> of_question(const std::string& text) const;
  std::string_view chat_template() const;  // the source; empty: there is none

 private:
  const checkpoint::Checkpoint& checkpoint_;
  std::shared_ptr<const chat::ChatFormat> format_;  // null: no chat template
};

}  // namespace millrace::app
