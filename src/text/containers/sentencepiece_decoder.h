#pragma once

#include <memory>

#include "text/containers/sentencepiece_model.h"
#include "text/decoder.h"

namespace millrace::text {

// SentencePiece's conversion of pieces to text. U+2581 becomes a space, unless it was added in front; bytes become
// characters where they are valid.
std::unique_ptr<const Decoder> make_sentencepiece_decoder(const SentencePieceModel& model);

}  // namespace millrace::text
