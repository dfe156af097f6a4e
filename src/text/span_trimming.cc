#include "text/span_trimming.h"

#include <algorithm>

#include "text/bpe/byte_alphabet.h"
#include "unicode/code_points.h"

namespace millrace::text {
namespace {

// Characters of a spelling that are white space: the byte alphabet's space is U+0120.
struct Spaces {
  std::size_t leading = 0, trailing = 0;
};

Spaces spaces_of(std::string_view token) {
  Spaces out;
  bool leading = true;
  for (std::size_t at = 0; at < token.size();) {
    const unicode::CodePoint c = unicode::code_point_at(token, at);
    at += c.size;
    const bool space = c.value == 0x120 || (unicode::unicode_classes(c.value) & unicode::kSpace) != 0;
    leading = leading && space;
    if (leading) ++out.leading;
    out.trailing = space ? out.trailing + 1 : 0;
  }
  return out;
}

}  // namespace

Word without_spaces(std::string_view text, Word word) {
  const auto is_space = [&](std::size_t at) {
    return (unicode::unicode_classes(unicode::code_point_at(text, at).value) & unicode::kSpace) != 0;
  };
  while (word.begin < word.end && is_space(word.begin)) word.begin += unicode::code_point_at(text, word.begin).size;
  while (word.begin < word.end && is_space(unicode::previous_start(text, word.end)))
    word.end = unicode::previous_start(text, word.end);
  return word;
}

void trim_spans(const TokenizerParts& parts, Tokenizer::Encoding& encoding) {
  for (std::size_t i = 0; i < encoding.spans.size(); ++i) {
    Spaces spaces = spaces_of(parts.texts[static_cast<std::size_t>(encoding.ids[i])]);
    TokenSpan& span = encoding.spans[i];
    // A space that the pre-tokenizer put in front is not in the text.
    if (parts.trim_keeps_first_space && spaces.leading > 0 && (i == 0 || span.begin == 0)) --spaces.leading;
    span.begin = std::min(span.begin + spaces.leading, span.end);
    if (span.end >= spaces.trailing) span.end = std::max(span.end - spaces.trailing, span.begin);
  }
}

}  // namespace millrace::text
