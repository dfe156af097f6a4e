#pragma once

#include "text/containers/tokenizer_components.h"

namespace millrace::text {

// Reads `cls`, the token before a text, and `sep`, the one after it; each is [text, id] in the file.
void read_bert_frame(const JsonNode& node, TokenizerParts& parts);

}  // namespace millrace::text
