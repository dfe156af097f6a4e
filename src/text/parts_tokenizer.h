#pragma once

#include <memory>

#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// Makes a tokenizer from its parts. `parts.model` must be set.
std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerParts parts);

}  // namespace millrace::text
