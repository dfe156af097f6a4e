#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace millrace::text {

// A tokenizer for models without one: all tokens are empty, and none ends an answer. For measurements whose prompts are
// ids and whose text is dropped.
std::shared_ptr<const text::Tokenizer> blank_tokenizer(std::int64_t vocabulary);

}  // namespace millrace::text
