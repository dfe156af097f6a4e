#pragma once

#include <cstdint>
#include <vector>

#include "draft/drafter.h"
#include "grammar/matcher.h"

namespace millrace::draft {

// The tokens of the text that must come next in a grammar, as the tokenizer would cut it: nothing but draft tokens, as
// other tokens may spell the same text, and the last one may go on into what is free. At most `most`; empty where the
// grammar leaves a choice. Cost: of encoding that text.
std::vector<Token> forced_tokens(grammar::Matcher matcher, std::int64_t most);

// Cuts a draft and its branches where they do not fit a grammar any more. A branch that leaves the draft where that
// ends now becomes the rest of it.
void keep_fitting(const grammar::Matcher& matcher, std::vector<Token>& drafts, std::vector<Branch>& branches);

}  // namespace millrace::draft
