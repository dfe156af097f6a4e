#include "text/detokenizer.h"

#include <utility>

namespace millrace::text {

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special), stream_(tokenizer_->decoders()) {}

std::string Detokenizer::push(TokenId id) {
  const std::string_view token = tokenizer_->decoder_text(id);
  if (token.empty() || (skip_special_ && tokenizer_->is_special(id))) return {};
  stream_.push(token);
  return stream_.take();
}

std::string Detokenizer::finish() {
  stream_.finish();
  return stream_.take();
}

}  // namespace millrace::text
