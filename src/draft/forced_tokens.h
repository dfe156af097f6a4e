#pragma once

#include <cstdint>
#include <vector>

#include "draft/drafter.h"
#include "grammar/matcher.h"

namespace millrace::draft {

// The tokens of the text that must come next in a grammar, as the tokenizer would cut it: nothing but a guess, as other
// tokens may spell the same text, and the last one may go on into what is free. At most `most`; empty where the grammar
// leaves a choice. Cost: of encoding that text.
std::vector<Token> forced_tokens(grammar::Matcher matcher, std::int64_t most);

// The first of the drafts that fit a grammar, one after the other.
std::size_t fitting(grammar::Matcher matcher, const std::vector<Token>& drafts);

}  // namespace millrace::draft
