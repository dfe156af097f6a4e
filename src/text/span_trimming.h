#pragma once

#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// Removes the white space at the ends of tokens from their spans, as Hugging Face's ByteLevel post-processor does with
// trim_offsets.
void trim_spans(const TokenizerParts& parts, Tokenizer::Encoding& encoding);

// text[word.begin, word.end) without the white space at its ends.
Word without_spaces(std::string_view text, Word word);

}  // namespace millrace::text
