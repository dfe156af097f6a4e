#pragma once

#include "text/containers/tokenizer_components.h"

namespace millrace::text {

// `cls` before a text and `sep` after it, each given as [spelling, id].
void read_bert_frame(const JsonNode& node, TokenizerParts& parts);

}  // namespace millrace::text
