#pragma once

#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// Takes the white space at the ends of tokens out of their spans, as Hugging Face's ByteLevel post-processor does where
// trim_offsets is set.
void trim_spans(const TokenizerParts& parts, Tokenizer::Encoding& encoding);

// The part of text[word.begin, word.end) without the white space at its ends.
Word without_spaces(std::string_view text, Word word);

}  // namespace millrace::text
