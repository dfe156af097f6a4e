#pragma once

#include <memory>

#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// A tokenizer from its parts. `parts.model` is set.
std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerParts parts);

}  // namespace millrace::text
