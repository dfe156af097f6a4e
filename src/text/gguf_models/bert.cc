#include <algorithm>

#include "text/containers/gguf_tokens.h"
#include "text/containers/tokenizer_components.h"
#include "text/word_piece_model.h"

// WordPiece. Converters write U+2581 in front of tokens that begin a word and drop the "##" of those that continue one;
// here they are spelled as BERT's own vocabulary has them.
namespace millrace::text::gguf_models {
namespace {

constexpr std::string_view kContinuingPrefix = "##";
constexpr TokenId kBertCls = 101, kBertUnk = 100, kBertSep = 102;

bool is_bracketed(std::string_view token) { return token.starts_with('[') && token.ends_with(']'); }

std::vector<std::string> berts_spellings(const GgufVocabulary& v) {
  const auto begins_word = [](const std::string& token) { return token.starts_with(kSpaceSymbol); };
  if (std::ranges::none_of(v.tokens, begins_word)) return v.tokens;
  std::vector<std::string> out;
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    const std::string& token = v.tokens[id];
    const bool special = is_bracketed(token) || gguf_token_type(v, id) != SentencePieceModel::kNormal;
    out.push_back(begins_word(token) ? token.substr(kSpaceSymbol.size())
                  : special          ? token
                                     : std::string(kContinuingPrefix) + token);
  }
  return out;
}

// Files that do not say: a vocabulary with capital letters is of a model that tells them apart.
bool has_capitals(std::span<const std::string> tokens) {
  return std::ranges::any_of(tokens, [](const std::string& token) {
    return !is_bracketed(token) && std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

TokenizerParts load_bert(const GgufVocabulary& v) {
  const std::vector<std::string> tokens = berts_spellings(v);
  const auto size = static_cast<TokenId>(tokens.size());
  const auto or_default = [size](std::optional<TokenId> id, TokenId otherwise) {
    return id || otherwise >= size ? id : std::optional(otherwise);
  };
  TokenizerParts parts = list_gguf_tokens(v, tokens);
  parts.kind = "WordPiece";
  const bool lowercases = v.lowercase.value_or(!has_capitals(tokens));
  read_own_normalizer(fmt::format(R"({{"type": "BertNormalizer", "lowercase": {}, "strip_accents": {}}})", lowercases,
                                  v.strip_accents.value_or(lowercases)),
                      parts);
  read_own_pre_tokenizer(R"({"type": "BertPreTokenizer"})", parts);
  read_own_decoder(R"({"type": "WordPiece", "prefix": "##", "cleanup": true})", parts);
  WordPieceOptions options;
  options.unk = or_default(v.unk, kBertUnk).value_or(-1);
  options.continuing_prefix = kContinuingPrefix;
  parts.model = std::make_unique<WordPieceModel>(
      std::move(options), make_forms(parts.texts, hidden_gguf_tokens(v, parts, {.prefix = kContinuingPrefix}), false));
  GgufVocabulary roles;  // [CLS] in front, [SEP] behind
  roles.bos = or_default(v.bos, kBertCls);
  roles.eos = v.eos;
  roles.add_bos = v.add_bos;
  roles.add_eos = v.add_eos;
  frame_gguf_text(roles, true, false, parts);
  const auto sep = or_default(v.sep, kBertSep);
  if (sep && v.add_sep.value_or(true)) parts.suffix.push_back(*sep);
  return parts;
}

}  // namespace

GgufModel bert() { return {"bert", load_bert}; }

}  // namespace millrace::text::gguf_models
