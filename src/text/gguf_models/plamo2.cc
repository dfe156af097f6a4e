#include <algorithm>
#include <cmath>

#include "text/backward_unigram_model.h"
#include "text/byte_fallback.h"
#include "text/containers/gguf_tokens.h"
#include "text/joined_bytes_decoder.h"

// PLaMo 2 and 3: Unigram from the end to the beginning, with bytes for what no token has. Texts are not rewritten.
namespace millrace::text::gguf_models {
namespace {

constexpr TokenId kPlamoBos = 1, kPlamoEos = 2;
constexpr float kPlamoLargestScore = 200'000;
constexpr std::int64_t kPlamoDead = 20'000'000;  // the cost from which on text does not become a token

std::vector<TokenId> plamo_byte_tokens(const GgufVocabulary& v) {
  std::vector<TokenId> out(256, -1);
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    const bool is_byte = gguf_token_type(v, id) == SentencePieceModel::kByte;
    const int byte = is_byte ? byte_of_fallback_token(v.tokens[id]) : -1;
    if (byte >= 0) out[static_cast<std::size_t>(byte)] = static_cast<TokenId>(id);
  }
  for (std::size_t byte = 0; byte < out.size(); ++byte) {
    if (out[byte] >= 0) continue;
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                     "tokenizer.ggml.tokens has no <0x{:02X}> of type byte; model \"{}\" needs one for each byte", byte,
                     v.model);
  }
  return out;
}

// In ten-thousandths of the scores, so that sums are exact.
std::vector<std::int64_t> plamo_costs(const GgufVocabulary& v) {
  check_gguf_scores(v);
  std::vector<std::int64_t> costs;
  costs.reserve(v.scores.size());
  for (const float score : v.scores) {
    if (score > kPlamoLargestScore) {
      throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores", "tokenizer.ggml.scores[{}] is {}; the limit is {}",
                       costs.size(), score, kPlamoLargestScore);
    }
    costs.push_back(-std::llround(static_cast<double>(std::max(score, -kPlamoLargestScore)) * 1e4));
  }
  return costs;
}

TokenizerParts load_plamo2(const GgufVocabulary& vocabulary) {
  GgufVocabulary v = vocabulary;
  const auto size = static_cast<TokenId>(v.tokens.size());
  if (!v.bos && kPlamoBos < size) v.bos = kPlamoBos;
  if (!v.eos && kPlamoEos < size) v.eos = kPlamoEos;
  std::vector<std::int64_t> costs = plamo_costs(v);
  TokenizerParts parts = list_gguf_tokens(v, v.tokens);
  parts.kind = "PLaMo Unigram";
  std::vector<bool> hidden = hidden_gguf_tokens(v, parts);
  for (std::size_t id = 0; id < hidden.size(); ++id) {
    const auto type = gguf_token_type(v, id);
    const bool never = type == SentencePieceModel::kByte || type == SentencePieceModel::kUnused;
    hidden[id] = hidden[id] || never || costs[id] >= kPlamoDead;
  }
  parts.model = std::make_unique<BackwardUnigramModel>(make_forms(parts.texts, hidden, false), std::move(costs),
                                                       plamo_byte_tokens(v));
  parts.add_decoder(joined_bytes_decoder(replace_fallback_token));
  frame_gguf_text(v, false, false, parts);
  return parts;
}

}  // namespace

GgufModel plamo2() { return {"plamo2", load_plamo2}; }

}  // namespace millrace::text::gguf_models
