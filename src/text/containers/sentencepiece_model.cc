#include "text/containers/sentencepiece_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "text/byte_fallback.h"
#include "text/containers/protobuf_reader.h"
#include "unicode/code_points.h"

// The fields that bear on encoding and decoding; the others are how the model was trained, and tests of it.
namespace millrace::text {
namespace {

using Model = SentencePieceModel;

// Checks that a value is one of the enumeration.
Model::PieceType piece_type(std::uint64_t value, std::size_t id) {
  if (value >= Model::kNormal && value <= Model::kByte) return static_cast<Model::PieceType>(value);
  throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces[{}].type is {}; 1 to 6 are known", id,
                   value);
}

Model::Piece read_piece(std::string_view message, std::size_t id) {
  Model::Piece out;
  ProtobufReader reader(message, "tokenizer.model: pieces[" + std::to_string(id) + "]");
  while (reader.next()) {
    if (reader.field() == 1) out.text = reader.bytes();
    if (reader.field() == 2) out.score = reader.number();
    if (reader.field() == 3) out.type = piece_type(reader.varint(), id);
  }
  if (out.text.empty() || !unicode::is_valid_utf8(out.text)) {
    throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces[{}].piece is {}", id,
                     out.text.empty() ? "empty" : "not UTF-8");
  }
  if (!std::isfinite(out.score)) {
    throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces[{}].score is not a finite number", id);
  }
  return out;
}

void read_kind(std::uint64_t value, Model& out) {
  constexpr std::array<std::string_view, 5> kNames = {"unknown", "unigram", "bpe", "word", "char"};
  if (value != 1 && value != 2) {
    throw_load_error(ErrorCode::kUnsupported, "trainer_spec.model_type",
                     "tokenizer.model: trainer_spec.model_type is {} ({}); this build knows 1 (unigram) and 2 (bpe)",
                     value, kNames[value < kNames.size() ? value : 0]);
  }
  out.kind = value == 1 ? Model::Kind::kUnigram : Model::Kind::kBpe;
}

void read_trainer(std::string_view message, Model& out) {
  ProtobufReader reader(message, "tokenizer.model: trainer_spec");
  while (reader.next()) {
    switch (reader.field()) {
      case 3: read_kind(reader.varint(), out); break;
      case 24: out.whitespace_as_suffix = reader.boolean(); break;
      case 35: out.byte_fallback = reader.boolean(); break;
      case 44: out.unk_surface = unicode::replace_invalid_utf8(reader.bytes()); break;
      case 46: out.bos_piece = reader.bytes(); break;
      case 47: out.eos_piece = reader.bytes(); break;
      default: break;
    }
  }
}

void read_normalizer_spec(std::string_view message, Model& out) {
  ProtobufReader reader(message, "tokenizer.model: normalizer_spec");
  while (reader.next()) {
    if (reader.field() == 2) out.charsmap = reader.bytes();
    if (reader.field() == 3) out.add_dummy_prefix = reader.boolean();
    if (reader.field() == 4) out.remove_extra_whitespaces = reader.boolean();
    if (reader.field() == 5) out.escape_whitespaces = reader.boolean();
  }
}

void reject_denormalizer(std::string_view message) {
  Model rules;
  read_normalizer_spec(message, rules);
  if (rules.charsmap.empty()) return;
  throw_load_error(ErrorCode::kUnsupported, "denormalizer_spec",
                   "tokenizer.model: denormalizer_spec has rules; this build decodes without any");
}

// What SentencePiece itself asks of a vocabulary.
void check_pieces(Model& model) {
  std::set<std::string_view> normal, reserved;
  std::array<bool, 256> has_byte{};
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const Model::Piece& piece = model.pieces[id];
    const bool is_normal =
        piece.type == Model::kNormal || piece.type == Model::kUserDefined || piece.type == Model::kUnused;
    if (!(is_normal ? normal : reserved).insert(piece.text).second) {
      throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces[{}]: \"{}\" is there twice", id,
                       piece.text);
    }
    if (piece.type == Model::kUnknown) {
      if (model.unk)
        throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces {} and {} are unknown", *model.unk,
                         id);
      model.unk = static_cast<TokenId>(id);
    }
    if (piece.type != Model::kByte) continue;
    const int byte = byte_of_fallback_token(piece.text);
    if (byte < 0 || !model.byte_fallback) {
      throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces[{}]: \"{}\" cannot be a byte{}", id,
                       piece.text, byte < 0 ? "" : " without trainer_spec.byte_fallback");
    }
    has_byte[static_cast<std::size_t>(byte)] = true;
  }
  if (!model.unk) throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces: none of them is unknown");
  if (model.byte_fallback && std::ranges::find(has_byte, false) != has_byte.end()) {
    throw_load_error(ErrorCode::kBadFile, "pieces",
                     "tokenizer.model: pieces: trainer_spec.byte_fallback asks for all 256 bytes");
  }
}

}  // namespace

std::optional<TokenId> SentencePieceModel::find_control(std::string_view text) const {
  const auto found =
      std::ranges::find_if(pieces, [&](const Piece& piece) { return piece.type == kControl && piece.text == text; });
  if (found == pieces.end()) return std::nullopt;
  return static_cast<TokenId>(found - pieces.begin());
}

SentencePieceModel parse_sentencepiece_model(std::string_view file) {
  if (file.size() > kMaxVocabularyBytes) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.model", "tokenizer.model has {} bytes; the limit is {}",
                     file.size(), kMaxVocabularyBytes);
  }
  Model out;
  ProtobufReader reader(file, "tokenizer.model");
  while (reader.next()) {
    if (reader.field() == 1) {
      if (out.pieces.size() == kMaxTokens) {
        throw_load_error(ErrorCode::kBadFile, "pieces", "tokenizer.model: pieces: more than {}", kMaxTokens);
      }
      out.pieces.push_back(read_piece(reader.bytes(), out.pieces.size()));
    }
    if (reader.field() == 2) read_trainer(reader.bytes(), out);
    if (reader.field() == 3) read_normalizer_spec(reader.bytes(), out);
    if (reader.field() == 5) reject_denormalizer(reader.bytes());
  }
  check_pieces(out);
  return out;
}

}  // namespace millrace::text
