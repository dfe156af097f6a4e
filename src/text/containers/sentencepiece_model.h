#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_parts.h"

namespace millrace::text {

// A SentencePiece vocabulary with its rules, from a tokenizer.model (sentencepiece_model.proto) or a GGUF file made
// from one.
struct SentencePieceModel {
  enum class Kind { kUnigram, kBpe };
  enum PieceType : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;  // valid UTF-8
    float score = 0;   // finite
    PieceType type = kNormal;
  };

  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;
  std::optional<TokenId> unk;  // the piece of type kUnknown
  bool byte_fallback = false;
  std::string unk_surface = " \xe2\x81\x87 ";  // text of the unknown piece: U+2047 between spaces
  std::string bos_piece = "<s>", eos_piece = "</s>";

  std::string charsmap;  // empty: no rules
  bool add_dummy_prefix = true;
  bool prefixes_every_segment = true;  // also text after an added token; false: only the start of the whole text
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;  // to U+2581
  bool whitespace_as_suffix = false;

  std::optional<TokenId> find_control(std::string_view text) const;
};

// Parses a tokenizer.model. Throws LoadError naming the field; kUnsupported for a kind of model or normalization that
// this build does not support.
SentencePieceModel parse_sentencepiece_model(std::string_view file);

// The parts of a tokenizer, without prefix, suffix and end_of_generation. `added` are further tokens to search for,
// with ids after those of the pieces, or in place of a piece of the same text.
TokenizerParts sentencepiece_parts(const SentencePieceModel& model, std::vector<AddedToken> added);

}  // namespace millrace::text
