#include "chat/prompt_writer.h"

#include <nlohmann/json.hpp>

#include "chat/chat_capabilities.h"
#include "runtime/chat_prompt.h"

namespace millrace::app {

PromptWriter::PromptWriter(const checkpoint::Checkpoint& checkpoint) : checkpoint_(checkpoint) {
  if (checkpoint.tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", checkpoint.path);
  }
  format_ = runtime::load_chat_format(checkpoint);
}

Result<PromptWriter::Prompt> PromptWriter::prompt(const nlohmann::ordered_json& messages) const {
  const text::Tokenizer& tokenizer = *checkpoint_.tokenizer;
  if (format_ == nullptr) {
    std::string text;
    for (const auto& message : messages) text += message["content"].get<std::string>();
    return Prompt{tokenizer.encode(text, true, false), false};
  }
  const auto pieces = runtime::render_chat(*format_, {{"messages", messages}});
  if (!pieces) return pieces.error();
  // The template writes its own BOS.
  return Prompt{tokenizer.encode(*pieces, false), !chat::opened_thinking_tag(*pieces).empty()};
}

std::vector<std::int32_t> PromptWriter::of_question(const std::string& text) const {
  const nlohmann::ordered_json message = {{"role", "user"}, {"content", text}};
  return prompt(nlohmann::ordered_json::array({message})).or_throw().tokens;
}

std::string_view PromptWriter::chat_template() const { return format_ == nullptr ? "" : format_->default_source(); }

}  // namespace millrace::app
