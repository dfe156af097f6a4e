#include "text/detokenizer.h"

#include <utility>

namespace millrace::text {

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special), assembler_(tokenizer_->strips_leading_space()) {}

std::string Detokenizer::push(TokenId id) {
  if (tokenizer_->token_text(id).empty() || (skip_special_ && tokenizer_->is_special(id))) return {};
  return assembler_.push(tokenizer_->token_bytes(id), tokenizer_->is_byte_fallback(id));
}

std::string Detokenizer::finish() { return assembler_.finish(); }

}  // namespace millrace::text
