#include "text/detokenizer.h"

#include <algorithm>
#include <utility>

namespace millrace::text {

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special, std::vector<TokenId> shown)
    : tokenizer_(std::move(tokenizer)),
      skip_special_(skip_special),
      shown_(std::move(shown)),
      stream_(tokenizer_->decoders()) {}

std::string Detokenizer::push(TokenId id) {
  const std::string_view token = tokenizer_->decoder_text(id);
  if (token.empty()) return {};
  if (skip_special_ && tokenizer_->is_special(id) && std::ranges::find(shown_, id) == shown_.end()) return {};
  stream_.push(token);
  return stream_.take();
}

std::string Detokenizer::finish() {
  stream_.finish();
  return stream_.take();
}

}  // namespace millrace::text
