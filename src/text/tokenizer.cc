#include "text/tokenizer.h"

namespace millrace::text {

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool add_special, bool trusted) const {
  const TextPiece piece{std::string(text), trusted};
  return encode(std::span(&piece, 1), add_special);
}

}  // namespace millrace::text
