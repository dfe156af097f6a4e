#pragma once

#include "checkpoint/gguf_metadata.h"
#include "text/tokenizer.h"

namespace millrace::checkpoint {

// Reads `tokenizer.ggml.*` and moves the token list out of the metadata. Empty if the file has no tokenizer.
text::GgufVocabulary gguf_vocabulary(GgufMetadata& metadata);

}  // namespace millrace::checkpoint
