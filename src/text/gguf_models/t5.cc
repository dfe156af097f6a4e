#include "text/containers/gguf_tokens.h"

// SentencePiece Unigram, with the defaults of T5: no BOS, EOS behind the text.
namespace millrace::text::gguf_models {
namespace {

constexpr TokenId kT5Eos = 1, kT5Unk = 2;

TokenizerParts load_t5(const GgufVocabulary& vocabulary) {
  GgufVocabulary v = vocabulary;
  const auto size = static_cast<TokenId>(v.tokens.size());
  if (!v.eos && kT5Eos < size) v.eos = kT5Eos;
  SentencePieceModel model = gguf_sentencepiece(v, SentencePieceModel::Kind::kUnigram, false);
  if (!model.unk && kT5Unk < size) model.unk = kT5Unk;
  TokenizerParts parts = sentencepiece_parts(model, {});
  frame_gguf_text(v, false, true, parts);
  return parts;
}

}  // namespace

GgufModel t5() { return {"t5", load_t5}; }

}  // namespace millrace::text::gguf_models
