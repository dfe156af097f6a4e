#include <algorithm>
#include <cmath>

#include "text/bpe_model.h"
#include "text/gguf_pre_tokenizers.h"
#include "text/score_merges.h"
#include "text/tokenizer_components.h"
#include "text/unicode.h"

namespace millrace::text {
namespace {

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
  MergeTable read_merges() const;
  void check_scores() const;
  void set_specials(bool default_bos, bool default_eos);

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

MergeTable Loader::read_merges() const {
  MergeTable out;
  out.reserve(v_.merges.size());
  std::string whole;
  for (std::size_t rank = 0; rank < v_.merges.size(); ++rank) {
    const std::string_view merge = v_.merges[rank];
    const std::size_t space = merge.find(' ', 1);
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = space == merge.npos ? "" : merge.substr(space + 1);
    whole.assign(left).append(right);
    const TokenId a = parts_.find(left), b = parts_.find(right), result = parts_.find(whole);
    if (a < 0 || b < 0 || result < 0) {
      throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.merges",
                       "tokenizer.ggml.merges[{}] is \"{}\": \"{}\" is not in the vocabulary", rank, merge,
                       a < 0   ? left
                       : b < 0 ? right
                               : std::string_view(whole));
    }
    out.insert(a, b, {static_cast<std::uint32_t>(rank), result});
  }
  return out;
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
  if (v_.add_space_prefix.value_or(false)) {
    read_own_pre_tokenizer(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})", parts_);
    parts_.pre_tokenizer.byte_level = false;
  }
  read_own_pre_tokenizer(pre_tokenizer_json(*pre), parts_);
  if (pre->nfc) read_own_normalizer(R"({"type": "NFC"})", parts_);
  read_own_decoder(R"({"type": "ByteLevel"})", parts_);
  BpeOptions options;
  options.byte_level = parts_.pre_tokenizer.byte_level;
  options.ignore_merges = pre->ignore_merges;
  StringTable forms = make_forms(parts_.texts, hidden_, options.byte_level);
  parts_.model = std::make_unique<BpeModel>(std::move(options), std::move(forms), read_merges());
  set_specials(pre->adds_bos, pre->adds_eos);
}

void Loader::check_scores() const {
  if (v_.scores.empty()) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores",
                     "tokenizer.ggml.scores is missing; model \"{}\" needs it", v_.model);
  }
  for (std::size_t id = 0; id < v_.scores.size(); ++id) {
    if (std::isfinite(v_.scores[id])) continue;
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.scores", "tokenizer.ggml.scores[{}] is not a finite number",
                     id);
  }
}

void Loader::load_sentence_piece() {
  check_scores();
  const bool prefix = v_.add_space_prefix.value_or(true);
  parts_.kind = "SentencePiece BPE";
  if (prefix) read_own_normalizer(R"({"type": "Prepend", "prepend": "\u2581"})", parts_);
  read_own_normalizer(R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})", parts_);
  read_own_decoder(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}]})",
                   parts_);
  if (prefix) read_own_decoder(R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})", parts_);
  std::vector<bool> mergeable(v_.tokens.size());
  for (std::size_t id = 0; id < mergeable.size(); ++id) mergeable[id] = !is_control(id) && type(id) != kByte;
  BpeOptions options;
  options.byte_fallback = options.fuse_unk = true;
  options.unk = v_.unk.value_or(-1);
  options.cut_before = kSpaceSymbol;
  parts_.model = std::make_unique<BpeModel>(std::move(options), make_forms(parts_.texts, hidden_, false),
                                            merges_from_scores(parts_, v_.scores, mergeable));
  set_specials(true, false);
}

void Loader::set_specials(bool default_bos, bool default_eos) {
  parts_.bos = v_.bos;
  parts_.eos = v_.eos;
  if (v_.bos && v_.add_bos.value_or(default_bos)) parts_.prefix.push_back(*v_.bos);
  if (v_.eos && v_.add_eos.value_or(default_eos)) parts_.suffix.push_back(*v_.eos);
  parts_.end_of_generation = find_end_of_generation(parts_);
  if (v_.eot && std::ranges::find(parts_.end_of_generation, *v_.eot) == parts_.end_of_generation.end()) {
    parts_.end_of_generation.push_back(*v_.eot);
  }
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
  return std::move(parts_);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_gguf_tokenizer(GgufVocabulary vocabulary) {
  try {
    return make_tokenizer(Loader(std::move(vocabulary)).load());
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::text
