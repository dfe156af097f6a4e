#pragma once

#include <string_view>

#include "text/string_index.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// The merges of a vocabulary without a list of them: every division of a token into two tokens is one. `find` returns
// the token of a text, or -1; `rank` the rank of a token's merges. A token that `find` does not return has none.
template <class Find, class Rank>
MergeTable merges_of_cuts(const StringTable& texts, Find find, Rank rank) {
  MergeTable out;
  out.reserve(texts.size() * 4);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    const auto id = static_cast<TokenId>(i);
    // Not of a length that only a hostile file has.
    if (text.size() > kMaxAddedTokenBytes || find(text) != id) continue;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const TokenId left = find(text.substr(0, cut));
      const TokenId right = left < 0 ? -1 : find(text.substr(cut));
      if (right >= 0) out.insert(left, right, {rank(id), id});
    }
  }
  return out;
}

}  // namespace millrace::text
