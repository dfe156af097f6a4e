#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/answer_parts.h"
#include "chat/reasoning/reasoning_reader.h"
#include "chat/tools/tool_format.h"
#include "text/tokenizer.h"

namespace millrace::chat {

// How the answers of a request are to be read.
struct AnswerReading {
  bool parts = false;  // the request is a conversation, so answers are split into parts
  const reasoning::ReasoningFormat* reasoning = nullptr;  // null: reasoning is not separated
  bool reasoning_begun = false;                           // the prompt has opened the reasoning
  const tools::ToolFormat* tools = nullptr;               // null: calls are not separated
  std::string id_seed;                                    // seed of the ids of calls

  bool plain() const noexcept { return reasoning == nullptr && tools == nullptr; }
};

// Special tokens of the vocabulary that what reads the answers must see (SamplingParams::shown_special_tokens).
std::vector<std::int32_t> special_markers(const AnswerReading& reading, const text::Tokenizer& tokenizer);

// Splits one answer's text into parts as it arrives. The parts do not depend on how the text is cut into pieces. One
// thread.
class AnswerReader {
 public:
  // `use` must outlive it. `answer` is the answer's index, for ids.
  AnswerReader(const AnswerReading& reading, const tools::ToolUse& use, std::size_t answer);

  // Returns the parts of the text. `last`: no text follows.
  std::vector<PartEvent> push(std::string_view text, bool last);
  // Whether the text so far ends within reasoning.
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
