#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/containers/sentencepiece_model.h"
#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// A value of tokenizer.ggml.model: a file of gguf_models/ gives one. `load` throws LoadError naming the field.
struct GgufModel {
  std::string_view name;
  TokenizerParts (*load)(const GgufVocabulary& vocabulary);
};
std::span<const GgufModel> all_gguf_models();  // generated

// tokenizer.ggml.token_type: the types of SentencePiece.
SentencePieceModel::PieceType gguf_token_type(const GgufVocabulary& vocabulary, std::size_t id);
bool is_gguf_control(const GgufVocabulary& vocabulary, std::size_t id);  // also the unknown token

// Sizes and ids against each other and the limits.
void check_gguf_vocabulary(const GgufVocabulary& vocabulary);
// The scores are there, and finite.
void check_gguf_scores(const GgufVocabulary& vocabulary);

// The texts of `tokens`, and as added tokens those that are control tokens or defined by users.
TokenizerParts list_gguf_tokens(const GgufVocabulary& vocabulary, std::span<const std::string> tokens);
// The control tokens longer than a symbol.
std::vector<bool> hidden_gguf_tokens(const GgufVocabulary& vocabulary, const TokenizerParts& parts,
                                     Affixes affixes = {});

// The tokens around a text, and those that end an answer. The defaults are the model's where the file is silent.
void frame_gguf_text(const GgufVocabulary& vocabulary, bool default_bos, bool default_eos, TokenizerParts& parts);

// The vocabulary as one of SentencePiece. `spaces`: whether there is a space in front unless the file says so.
SentencePieceModel gguf_sentencepiece(const GgufVocabulary& vocabulary, SentencePieceModel::Kind kind, bool spaces);

}  // namespace millrace::text
