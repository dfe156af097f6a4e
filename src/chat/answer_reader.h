#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chat/answer_parts.h"
#include "chat/reasoning/reasoning_reader.h"
#include "chat/tools/tool_format.h"

namespace millrace::chat {

// What a request's answers are to be read for.
struct AnswerReading {
  bool parts = false;                                     // a conversation's: told as parts, not as text
  const reasoning::ReasoningFormat* reasoning = nullptr;  // null: reasoning is not looked for
  bool reasoning_begun = false;                           // in the prompt
  const tools::ToolFormat* tools = nullptr;               // null: calls are not looked for
  std::string id_seed;                                    // ids of calls come of this

  bool plain() const noexcept { return reasoning == nullptr && tools == nullptr; }
};

// Takes one answer's text apart as it comes. Whatever the pieces, the parts are the same.
class AnswerReader {
 public:
  // `use` outlives it. `answer`: its index, for ids.
  AnswerReader(const AnswerReading& reading, const tools::ToolUse& use, std::size_t answer);

  // What the text says. `last`: nothing comes after.
  std::vector<PartEvent> push(std::string_view text, bool last);
  // In the middle of reasoning, as far as it has been told.
  bool thinking() const noexcept { return thinks_ && thinks_->thinking(); }

 private:
  std::string id_of(const PartEvent& call) const;

  PartWriter writer_;
  std::optional<reasoning::ReasoningReader> thinks_;
  std::unique_ptr<tools::ToolParser> calls_;
  tools::CallIds ids_ = tools::CallIds::kPlain;
  std::string seed_;
};

}  // namespace millrace::chat
