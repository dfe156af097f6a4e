#include "text/containers/gguf_tokens.h"

#include <algorithm>
#include <cmath>

#include "text/byte_fallback.h"
#include "unicode/code_points.h"

namespace millrace::text {
namespace {

void check_id(const GgufVocabulary& v, std::string_view field, std::optional<TokenId> id) {
  if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < v.tokens.size())) return;
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{} is {}; the vocabulary has {} tokens", field, *id,
                   v.tokens.size());
}

void check_count(const GgufVocabulary& v, std::string_view field, std::size_t count) {
  if (count == 0 || count == v.tokens.size()) return;
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{} has {} entries for {} tokens", field, count,
                   v.tokens.size());
}

std::size_t total_bytes(std::span<const std::string> tokens) {
  std::size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  return bytes;
}

}  // namespace

SentencePieceModel::PieceType gguf_token_type(const GgufVocabulary& v, std::size_t id) {
  const std::int32_t type = v.token_types.empty() ? 1 : v.token_types[id];
  if (type == SentencePieceModel::kControl && (v.model == "llama" || v.model == "t5") &&
      byte_of_fallback_token(v.tokens[id]) >= 0) {
    return SentencePieceModel::kByte;  // a converter that calls every added token control
  }
  const bool known = type >= SentencePieceModel::kNormal && type <= SentencePieceModel::kByte;
  return known ? static_cast<SentencePieceModel::PieceType>(type) : SentencePieceModel::kNormal;
}

bool is_gguf_control(const GgufVocabulary& v, std::size_t id) {
  const auto type = gguf_token_type(v, id);
  return type == SentencePieceModel::kControl || type == SentencePieceModel::kUnknown;
}

void check_gguf_vocabulary(const GgufVocabulary& v) {
  const std::size_t n = v.tokens.size(), bytes = total_bytes(v.tokens);
  if (n == 0 || n > kMaxTokens) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                     "tokenizer.ggml.tokens has {} tokens; 1 to {} are possible", n, kMaxTokens);
  }
  if (bytes > kMaxVocabularyBytes) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                     "tokenizer.ggml.tokens has {} bytes of text; the limit is {}", bytes, kMaxVocabularyBytes);
  }
  check_count(v, "tokenizer.ggml.scores", v.scores.size());
  check_count(v, "tokenizer.ggml.token_type", v.token_types.size());
  check_id(v, "tokenizer.ggml.bos_token_id", v.bos);
  check_id(v, "tokenizer.ggml.eos_token_id", v.eos);
  check_id(v, "tokenizer.ggml.eot_token_id", v.eot);
  check_id(v, "tokenizer.ggml.eom_token_id", v.eom);
  check_id(v, "tokenizer.ggml.fim_pre_token_id", v.middle_tokens.prefix);
  check_id(v, "tokenizer.ggml.fim_suf_token_id", v.middle_tokens.suffix);
  check_id(v, "tokenizer.ggml.fim_mid_token_id", v.middle_tokens.middle);
  check_id(v, "tokenizer.ggml.unknown_token_id", v.unk);
  check_id(v, "tokenizer.ggml.padding_token_id", v.pad);
  check_id(v, "tokenizer.ggml.seperator_token_id", v.sep);
}

void check_gguf_scores(const GgufVocabulary& v) {
  if (v.scores.empty()) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores",
                     "tokenizer.ggml.scores is missing; model \"{}\" needs it", v.model);
  }
  for (std::size_t id = 0; id < v.scores.size(); ++id) {
    if (std::isfinite(v.scores[id])) continue;
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores", "tokenizer.ggml.scores[{}] is not a finite number",
                     id);
  }
}

TokenizerParts list_gguf_tokens(const GgufVocabulary& v, std::span<const std::string> tokens) {
  TokenizerParts parts;
  parts.reserve_texts(tokens.size(), total_bytes(tokens));
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string& raw = tokens[id];
    parts.add_text(unicode::is_valid_utf8(raw) ? raw : unicode::replace_invalid_utf8(raw));
    const bool control = is_gguf_control(v, id);
    const bool added = control || gguf_token_type(v, id) == SentencePieceModel::kUserDefined;
    if (!added || raw.empty()) continue;
    if (raw.size() > kMaxAddedTokenBytes) {
      throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                       "token {} is a special token of {} bytes; the limit is {}", id, raw.size(), kMaxAddedTokenBytes);
    }
    parts.added.push_back(
        {.id = static_cast<TokenId>(id), .content = std::string(parts.texts[id]), .special = control});
  }
  return parts;
}

std::vector<bool> hidden_gguf_tokens(const GgufVocabulary& v, const TokenizerParts& parts, Affixes affixes) {
  std::vector<bool> hidden(v.tokens.size());
  for (std::size_t id = 0; id < hidden.size(); ++id) {
    hidden[id] = is_gguf_control(v, id) && !is_symbol(parts.texts[id], affixes);
  }
  return hidden;
}

void frame_gguf_text(const GgufVocabulary& v, bool default_bos, bool default_eos, TokenizerParts& parts) {
  parts.bos = v.bos;
  parts.eos = v.eos;
  if (v.bos && v.add_bos.value_or(default_bos)) parts.prefix.push_back(*v.bos);
  if (v.eos && v.add_eos.value_or(default_eos)) parts.suffix.push_back(*v.eos);
  parts.end_of_generation = find_end_of_generation(parts);
  for (const auto& end : {v.eot, v.eom}) {
    if (end) add_end_tokens({&*end, 1}, parts);
  }
  parts.middle_tokens = v.middle_tokens;
}

SentencePieceModel gguf_sentencepiece(const GgufVocabulary& v, SentencePieceModel::Kind kind, bool spaces) {
  check_gguf_scores(v);
  SentencePieceModel out;
  out.kind = kind;
  out.unk = v.unk;
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    const auto type = gguf_token_type(v, id);
    const bool valid = unicode::is_valid_utf8(v.tokens[id]);
    out.pieces.push_back({valid ? v.tokens[id] : unicode::replace_invalid_utf8(v.tokens[id]), v.scores[id], type});
    out.byte_fallback = out.byte_fallback || type == SentencePieceModel::kByte;
    if (type == SentencePieceModel::kUnknown && !out.unk) out.unk = static_cast<TokenId>(id);
  }
  out.charsmap = v.precompiled_charsmap;
  out.add_dummy_prefix = v.add_space_prefix.value_or(spaces);
  out.remove_extra_whitespaces = v.remove_extra_whitespaces.value_or(false);
  return out;
}

}  // namespace millrace::text
