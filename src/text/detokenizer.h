#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/decoder.h"
#include "text/tokenizer.h"

namespace millrace::text {

// Converts a stream of tokens to text as it arrives. Every returned string is valid UTF-8, and all of them concatenated
// equal Tokenizer::decode() of all tokens. One per stream; one thread. A push() is O(token), amortised.
class Detokenizer {
 public:
  // `shown` are special tokens that are not skipped.
  Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special, std::vector<TokenId> shown = {});

  // The text that this token completes; empty while a character is incomplete.
  std::string push(TokenId id);
  // The rest of the text, with U+FFFD for bytes that never became a character. Call it once, after the last push().
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  std::vector<TokenId> shown_;
  DecodeStream stream_;
};

}  // namespace millrace::text
