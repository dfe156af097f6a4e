#include <algorithm>
#include <cmath>
#include <functional>

#include "text/bpe_tokenizer.h"
#include "text/gguf_pre_tokenizers.h"
#include "text/unicode.h"

namespace millrace::text {
namespace {

constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";  // U+2581

// tokenizer.ggml.token_type
enum TokenType : std::int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

class Loader {
 public:
  explicit Loader(GgufVocabulary vocabulary) : v_(std::move(vocabulary)) {}
  TokenizerParts load();

 private:
  TokenType type(std::size_t id) const {
    return v_.token_types.empty() ? kNormal : static_cast<TokenType>(v_.token_types[id]);
  }
  bool is_control(std::size_t id) const { return type(id) == kControl || type(id) == kUnknown; }
  void check_sizes() const;
  void check_id(std::string_view field, std::optional<TokenId> id) const;
  void read_tokens();
  void load_byte_level();
  void load_sentence_piece();
  void read_merges();
  void merges_from_scores();
  std::vector<std::uint32_t> ranks_of_scores() const;
  void set_specials(bool default_bos);

  GgufVocabulary v_;
  TokenizerParts parts_;
  std::vector<bool> hidden_;
};

void Loader::check_sizes() const {
  const std::size_t n = v_.tokens.size();
  if (n == 0 || n > kMaxTokens) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                     "tokenizer.ggml.tokens has {} tokens; 1 to {} are possible", n, kMaxTokens);
  }
  std::size_t bytes = 0;
  for (const std::string& token : v_.tokens) bytes += token.size();
  if (bytes > kMaxVocabularyBytes) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                     "tokenizer.ggml.tokens has {} bytes of text; the limit is {}", bytes, kMaxVocabularyBytes);
  }
  if (!v_.scores.empty() && v_.scores.size() != n) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores", "tokenizer.ggml.scores has {} entries for {} tokens",
                     v_.scores.size(), n);
  }
  if (!v_.token_types.empty() && v_.token_types.size() != n) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.token_type",
                     "tokenizer.ggml.token_type has {} entries for {} tokens", v_.token_types.size(), n);
  }
  check_id("tokenizer.ggml.bos_token_id", v_.bos);
  check_id("tokenizer.ggml.eos_token_id", v_.eos);
  check_id("tokenizer.ggml.eot_token_id", v_.eot);
  check_id("tokenizer.ggml.unknown_token_id", v_.unk);
  check_id("tokenizer.ggml.padding_token_id", v_.pad);
}

void Loader::check_id(std::string_view field, std::optional<TokenId> id) const {
  if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < v_.tokens.size())) return;
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{} is {}; the vocabulary has {} tokens", field, *id,
                   v_.tokens.size());
}

void Loader::read_tokens() {
  const std::size_t n = v_.tokens.size();
  std::size_t bytes = 0;
  for (const std::string& token : v_.tokens) bytes += token.size();
  parts_.texts.reserve(n, bytes);
  parts_.by_text.reserve(n);
  hidden_.resize(n);
  for (std::size_t id = 0; id < n; ++id) {
    const std::string& raw = v_.tokens[id];
    const bool valid = is_valid_utf8(raw);
    parts_.texts.push_back(valid ? raw : replace_invalid_utf8(raw));
    parts_.by_text.insert(parts_.texts, static_cast<TokenId>(id));
    hidden_[id] = is_control(id);
    const bool added = is_control(id) || type(id) == kUserDefined;
    if (!added || raw.empty()) continue;
    if (raw.size() > kMaxAddedTokenBytes) {
      throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                       "token {} is a special token of {} bytes; the limit is {}", id, raw.size(), kMaxAddedTokenBytes);
    }
    parts_.added.push_back(
        {.id = static_cast<TokenId>(id), .content = std::string(parts_.texts[id]), .special = is_control(id)});
  }
}

void Loader::read_merges() {
  parts_.merges.reserve(v_.merges.size());
  std::string whole;
  for (std::size_t rank = 0; rank < v_.merges.size(); ++rank) {
    const std::string_view merge = v_.merges[rank];
    const std::size_t space = merge.find(' ', 1);
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = space == merge.npos ? "" : merge.substr(space + 1);
    whole.assign(left).append(right);
    const TokenId a = parts_.by_text.find(parts_.texts, left);
    const TokenId b = parts_.by_text.find(parts_.texts, right);
    const TokenId result = parts_.by_text.find(parts_.texts, whole);
    if (a < 0 || b < 0 || result < 0) {
      throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.merges",
                       "tokenizer.ggml.merges[{}] is \"{}\": \"{}\" is not in the vocabulary", rank, merge,
                       a < 0   ? left
                       : b < 0 ? right
                               : std::string_view(whole));
    }
    parts_.merges.insert(a, b, {static_cast<std::uint32_t>(rank), result});
  }
}

void Loader::load_byte_level() {
  const GgufPreTokenizer* pre = find_gguf_pre_tokenizer(v_.pre);
  if (pre == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer.ggml.pre", "tokenizer.ggml.pre is \"{}\"; known are {}",
                     v_.pre, gguf_pre_tokenizer_names());
  }
  if (v_.merges.empty()) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.merges",
                     "tokenizer.ggml.merges is missing; model \"gpt2\" needs it");
  }
  parts_.kind = "byte-level BPE (" + v_.pre + ")";
  parts_.bpe = {.byte_level = true, .ignore_merges = pre->ignore_merges};
  parts_.pre_tokenizer = pre->make();
  if (pre->nfc) parts_.normalizers.push_back(make_nfc());
  parts_.decoder.byte_level = true;
  if (v_.add_space_prefix.value_or(false)) {
    parts_.pre_tokenizer.prefix.assign(1, ' ');
    parts_.pre_tokenizer.prepend = PreTokenizer::Prepend::kAlways;
  }
  read_merges();
  set_specials(pre->adds_bos);
}

// Equal scores get equal ranks, the highest score rank 0.
std::vector<std::uint32_t> Loader::ranks_of_scores() const {
  std::vector<float> scores = v_.scores;
  std::ranges::sort(scores, std::greater<>());
  scores.erase(std::ranges::unique(scores).begin(), scores.end());
  std::vector<std::uint32_t> ranks;
  for (const float score : v_.scores) {
    ranks.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(scores, score, std::greater<>()) - scores.begin()));
  }
  return ranks;
}

// SentencePiece merges any two neighbours whose concatenation is a piece, the highest score first. So every way to cut
// a piece in two pieces is a merge, ranked by the score of the whole.
void Loader::merges_from_scores() {
  for (std::size_t id = 0; id < v_.scores.size(); ++id) {
    if (std::isfinite(v_.scores[id])) continue;
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores", "tokenizer.ggml.scores[{}] is not a finite number",
                     id);
  }
  const std::vector<std::uint32_t> ranks = ranks_of_scores();
  const auto mergeable = [&](TokenId id) {
    return id >= 0 && !is_control(static_cast<std::size_t>(id)) && type(static_cast<std::size_t>(id)) != kByte;
  };
  parts_.merges.reserve(v_.tokens.size() * 4);
  for (std::size_t id = 0; id < parts_.texts.size(); ++id) {
    const std::string_view text = parts_.texts[id];
    if (!mergeable(static_cast<TokenId>(id)) || text.size() > kMaxAddedTokenBytes) continue;
    if (parts_.by_text.find(parts_.texts, text) != static_cast<TokenId>(id)) continue;  // a later duplicate
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      if ((static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) continue;
      const TokenId left = parts_.by_text.find(parts_.texts, text.substr(0, cut));
      if (!mergeable(left)) continue;
      const TokenId right = parts_.by_text.find(parts_.texts, text.substr(cut));
      if (mergeable(right)) parts_.merges.insert(left, right, {ranks[id], static_cast<TokenId>(id)});
    }
  }
}

void Loader::load_sentence_piece() {
  if (v_.scores.empty()) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores",
                     "tokenizer.ggml.scores is missing; model \"llama\" needs it");
  }
  const bool prefix = v_.add_space_prefix.value_or(true);
  parts_.kind = "SentencePiece BPE";
  parts_.bpe = {.byte_fallback = true, .fuse_unk = true, .unk = v_.unk.value_or(-1)};
  if (prefix) parts_.normalizers.push_back(make_prepend(std::string(kSpaceSymbol)));
  parts_.normalizers.push_back(make_replace(" ", std::string(kSpaceSymbol)));
  parts_.decoder.byte_fallback = true;
  parts_.decoder.strip_leading_space = prefix;
  parts_.decoder.replacements.push_back({std::string(kSpaceSymbol), " "});
  merges_from_scores();
  set_specials(true);
}

void Loader::set_specials(bool default_bos) {
  parts_.bos = v_.bos;
  parts_.eos = v_.eos;
  if (v_.bos && v_.add_bos.value_or(default_bos)) parts_.prefix.push_back(*v_.bos);
  if (v_.eos && v_.add_eos.value_or(false)) parts_.suffix.push_back(*v_.eos);
  parts_.end_of_generation = find_end_of_generation(parts_);
  if (v_.eot) parts_.end_of_generation.push_back(*v_.eot);
}

TokenizerParts Loader::load() {
  check_sizes();
  read_tokens();
  if (v_.model == "gpt2") {
    load_byte_level();
  } else if (v_.model == "llama") {
    load_sentence_piece();
  } else {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer.ggml.model",
                     "tokenizer.ggml.model is \"{}\"; known are \"gpt2\" and \"llama\"", v_.model);
  }
  parts_.forms = make_forms(parts_.texts, hidden_, parts_.bpe.byte_level);
  return std::move(parts_);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_gguf_tokenizer(GgufVocabulary vocabulary) {
  try {
    return make_bpe_tokenizer(Loader(std::move(vocabulary)).load());
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::text
