#include "text/bpe/bpe_model.h"
#include "text/bpe/score_merges.h"
#include "text/containers/gguf_tokens.h"
#include "text/containers/tokenizer_components.h"

// SentencePiece BPE: scores in place of merges. Text is prepared as the converted tokenizer.json of these models does;
// a file with rules of its own as SentencePiece does.
namespace millrace::text::gguf_models {
namespace {

TokenizerParts load_with_rules(const GgufVocabulary& v) {
  TokenizerParts parts = sentencepiece_parts(gguf_sentencepiece(v, SentencePieceModel::Kind::kBpe, true), {});
  frame_gguf_text(v, true, false, parts);
  return parts;
}

TokenizerParts load_llama(const GgufVocabulary& v) {
  if (!v.precompiled_charsmap.empty()) return load_with_rules(v);
  check_gguf_scores(v);
  TokenizerParts parts = list_gguf_tokens(v, v.tokens);
  const bool prefix = v.add_space_prefix.value_or(true);
  parts.kind = "SentencePiece BPE";
  if (prefix) read_own_normalizer(R"({"type": "Prepend", "prepend": "\u2581"})", parts);
  read_own_normalizer(R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})", parts);
  read_own_decoder(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}]})",
                   parts);
  if (prefix) read_own_decoder(R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})", parts);
  std::vector<bool> mergeable(v.tokens.size());
  for (std::size_t id = 0; id < mergeable.size(); ++id) {
    mergeable[id] = !is_gguf_control(v, id) && gguf_token_type(v, id) != SentencePieceModel::kByte;
  }
  BpeOptions options;
  options.fallback_bytes = parts.fallback_bytes();
  options.fuse_unk = true;
  options.unk = v.unk.value_or(-1);
  options.cut_before = kSpaceSymbol;
  parts.model =
      std::make_unique<BpeModel>(std::move(options), make_forms(parts.texts, hidden_gguf_tokens(v, parts), false),
                                 merges_from_scores(parts, v.scores, mergeable));
  frame_gguf_text(v, true, false, parts);
  return parts;
}

}  // namespace

GgufModel llama() { return {"llama", load_llama}; }

}  // namespace millrace::text::gguf_models
