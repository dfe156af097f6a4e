#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace millrace::text {

// Turns a stream of tokens into text as it arrives: every string returned is whole UTF-8, and the concatenation of all of them
// equals Tokenizer::decode of all tokens. One per stream; not thread-safe. O(token) a push.
class Detokenizer {
 public:
  Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special);

  // The text that became complete with this token; may be empty while a character is still open.
  std::string push(TokenId id);
  // What is left at the end: U+FFFD for bytes that never became a character.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  bool at_start_ = true;
  std::string pending_;  // bytes of a character that is not complete yet
};

}  // namespace millrace::text
