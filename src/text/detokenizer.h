#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/decoder.h"
#include "text/tokenizer.h"

namespace millrace::text {

// Turns a stream of tokens into text as it arrives: every string returned is whole UTF-8, and the concatenation of all
// of them equals Tokenizer::decode of all tokens. One per stream; not thread-safe. O(token) a push, amortised.
class Detokenizer {
 public:
  // `shown`: special tokens that are not skipped.
  Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special, std::vector<TokenId> shown = {});

  // The text that became complete with this token; may be empty while a character is still open.
  std::string push(TokenId id);
  // What is left at the end: U+FFFD for bytes that never became a character. Call once; nothing may be pushed after it.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  std::vector<TokenId> shown_;
  DecodeStream stream_;
};

}  // namespace millrace::text
