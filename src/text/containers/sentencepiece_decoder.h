#pragma once

#include <memory>

#include "text/containers/sentencepiece_model.h"
#include "text/decoder.h"

namespace millrace::text {

// SentencePiece's way from pieces to text: U+2581 is a space, except those it put in front; bytes are characters where
// they can be.
std::unique_ptr<const Decoder> make_sentencepiece_decoder(const SentencePieceModel& model);

}  // namespace millrace::text
