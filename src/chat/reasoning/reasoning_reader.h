#pragma once

#include <string>
#include <string_view>

#include "chat/answer_parts.h"
#include "chat/marker_matcher.h"
#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning {

// Separates the reasoning at the beginning of an answer, and takes the words around the answer proper away. The result
// does not depend on how the text is cut. White space at the ends of reasoning, and before the answer proper, is
// dropped; within words around the answer, a line feed at each of its ends. Linear.
class ReasoningReader {
 public:
  // `begun`: the prompt has opened the reasoning.
  ReasoningReader(const ReasoningFormat& format, bool begun, PartWriter& writer);

  // Takes text, and appends what is not reasoning to `rest`.
  void push(std::string_view text, std::string& rest);
  void finish(std::string& rest);
  bool thinking() const noexcept { return state_ == State::kThinking; }

 private:
  enum class State : std::uint8_t { kStart, kThinking, kBeforeAnswer, kAnswer, kAfterAnswer, kRest };
  void take(char byte, std::string& rest);
  void think(std::string_view text);

  PartWriter& writer_;
  MarkerMatcher close_, answer_close_;
  const std::string open_, answer_open_;
  State state_ = State::kStart;
  bool thought_ = false;  // there was reasoning, and it has ended
  bool repeats_ = false;  // kStart, in reasoning already: the tag may come again
  bool any_ = false;      // reasoning
  std::string begun_;     // the front, which may be a tag
  std::string space_;     // after reasoning, perhaps within
};

}  // namespace millrace::chat::reasoning
