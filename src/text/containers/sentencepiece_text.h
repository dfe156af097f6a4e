#pragma once

#include <memory>

#include "text/containers/sentencepiece_model.h"
#include "text/pre_tokenizer.h"

namespace millrace::text {

// SentencePiece's preparation of a text: its rules (the longest first), white space that is too much, the space in
// front, and U+2581 for spaces. `user_defined`: texts that the rules leave alone.
std::unique_ptr<const PreTokenizerStep> make_sentencepiece_text(const SentencePieceModel& model,
                                                                const StringTable& user_defined);

}  // namespace millrace::text
