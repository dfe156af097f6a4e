#pragma once

#include "checkpoint/gguf_metadata.h"
#include "text/tokenizer.h"

namespace millrace::checkpoint {

// `tokenizer.ggml.*`; its token list moves out of the metadata. A file without a tokenizer gives an empty vocabulary.
text::GgufVocabulary gguf_vocabulary(GgufMetadata& metadata);

}  // namespace millrace::checkpoint
