#include "text/gguf_tokens.h"

// SentencePiece Unigram, with the defaults of T5: no BOS, EOS behind the text.
namespace millrace::text::gguf_models {
namespace {

constexpr TokenId kDefaultEos = 1, kDefaultUnk = 2;

TokenizerParts load(const GgufVocabulary& vocabulary) {
  GgufVocabulary v = vocabulary;
  const auto size = static_cast<TokenId>(v.tokens.size());
  if (!v.eos && kDefaultEos < size) v.eos = kDefaultEos;
  SentencePieceModel model = gguf_sentencepiece(v, SentencePieceModel::Kind::kUnigram, false);
  if (!model.unk && kDefaultUnk < size) model.unk = kDefaultUnk;
  TokenizerParts parts = sentencepiece_parts(model, {});
  frame_gguf_text(v, false, true, parts);
  return parts;
}

}  // namespace

GgufModel t5() { return {"t5", load}; }

}  // namespace millrace::text::gguf_models
