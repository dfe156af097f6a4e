#pragma once

#include <cstdint>
#include <vector>

#include "draft/drafter.h"
#include "grammar/matcher.h"

namespace millrace::draft {

// The tokens of the text that must come next in the grammar, encoded by its tokenizer; at most `most`. Empty where the
// grammar leaves a choice. They are only draft tokens: other tokens may spell the same text, and the last one may reach
// into text that is free. Costs the encoding of that text.
std::vector<Token> forced_tokens(grammar::Matcher matcher, std::int64_t most);

// Cuts a draft and its branches before the first token that does not fit the grammar. A branch that leaves the draft
// exactly at its new end becomes its continuation.
void keep_fitting(const grammar::Matcher& matcher, std::vector<Token>& drafts, std::vector<Branch>& branches);

}  // namespace millrace::draft
