#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace millrace::text {

// For models that carry no tokenizer: every token is nothing, none ends an answer. Enough to measure, where prompts are
// ids and the text is thrown away.
std::shared_ptr<const text::Tokenizer> blank_tokenizer(std::int64_t vocabulary);

}  // namespace millrace::text
