#pragma once

#include <memory>

#include "text/containers/sentencepiece_model.h"
#include "text/pre_tokenizer.h"

namespace millrace::text {

// SentencePiece's preparation of a text: its rules (the longest first), removal of extra white space, the space in
// front, and U+2581 for spaces. The rules do not change the texts in `user_defined`.
std::unique_ptr<const PreTokenizerStep> make_sentencepiece_text(const SentencePieceModel& model,
                                                                const StringTable& user_defined);

}  // namespace millrace::text
