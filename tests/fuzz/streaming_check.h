#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "text/detokenizer.h"
#include "unicode/code_points.h"

namespace millrace::text {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Streaming gives whole characters that join to what decoding the whole gives.
inline void check_streaming(const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<TokenId>& ids,
                            bool skip_special) {
  Detokenizer stream(tokenizer, skip_special);
  std::string text;
  for (const TokenId id : ids) {
    const std::string part = stream.push(id);
    require(unicode::is_valid_utf8(part));
    text += part;
  }
  text += stream.finish();
  require(unicode::is_valid_utf8(text) && text == tokenizer->decode(ids, skip_special));
}

}  // namespace millrace::text
