#pragma once

#include "checkpoint/gguf_metadata.h"
#include "checkpoint/model_config.h"
#include "text/tokenizer.h"

namespace millrace::checkpoint {

// `<architecture>.*` and `general.*` as a ModelConfig, for any architecture that uses the common key names; whether the
// engine has such a model is not decided here. What only the tensors tell (tied embeddings, biases) is left at its
// default. Throws LoadError; the result is not range-checked yet (config_check.h).
ModelConfig gguf_config(const GgufMetadata& metadata);

// `tokenizer.ggml.*`; its token list moves out of the metadata. A file without a tokenizer gives an empty vocabulary.
text::GgufVocabulary gguf_vocabulary(GgufMetadata& metadata);

}  // namespace millrace::checkpoint
