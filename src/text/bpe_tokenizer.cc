#include "text/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <map>

#include "text/byte_alphabet.h"
#include "text/text_assembler.h"
#include "text/unicode.h"

namespace millrace::text {
namespace {

constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";  // U+2581

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(TokenizerParts parts);

  std::vector<TokenId> encode(std::span<const TextPiece> pieces, bool add_special) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string token_bytes(TokenId id) const override { return std::string(has(id) ? bytes_[index(id)] : ""); }
  bool strips_leading_space() const noexcept override { return decoder_.strip_leading_space; }
  bool is_byte_fallback(TokenId id) const noexcept override { return has(id) && (flags_[index(id)] & kByteToken) != 0; }
  int vocab_size() const noexcept override { return static_cast<int>(texts_.size()); }
  std::string_view token_text(TokenId id) const noexcept override { return has(id) ? texts_[index(id)] : ""; }
  std::optional<TokenId> find(std::string_view token_text) const noexcept override;
  bool is_special(TokenId id) const noexcept override { return has(id) && (flags_[index(id)] & kSpecialToken) != 0; }
  std::optional<TokenId> bos() const noexcept override { return bos_; }
  std::optional<TokenId> eos() const noexcept override { return eos_; }
  bool adds_bos() const noexcept override { return bos_ && std::ranges::find(prefix_, *bos_) != prefix_.end(); }
  std::span<const TokenId> end_of_generation() const noexcept override { return end_of_generation_; }
  std::string_view kind() const noexcept override { return kind_; }

 private:
  enum Flag : std::uint8_t { kSpecialToken = 1, kByteToken = 2 };
  // Buffers of one encode call.
  struct Scratch {
    std::vector<Segment> segments;
    std::vector<Word> words, spare;
    MergeScratch merge;
  };

  static std::size_t index(TokenId id) { return static_cast<std::size_t>(id); }
  bool has(TokenId id) const noexcept { return id >= 0 && index(id) < texts_.size(); }
  std::string decoded(TokenId id, std::string text) const;
  void encode_segment(const MarkedText& text, bool at_start, Scratch& scratch, std::vector<TokenId>& out) const;
  void encode_words(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;

  std::string kind_;
  StringTable texts_;
  StringIndex by_text_;
  AddedTokenMatcher added_raw_, added_normalized_;
  NormalizerList normalizers_;
  PreTokenizer pre_tokenizer_;
  BpeModel model_;
  DecoderSpec decoder_;
  StringTable bytes_;  // what each token adds to a decoded text
  std::vector<std::uint8_t> flags_;
  std::vector<TokenId> prefix_, suffix_;
  std::optional<TokenId> bos_, eos_;
  std::vector<TokenId> end_of_generation_;
};

BpeTokenizer::BpeTokenizer(TokenizerParts parts)
    : kind_(std::move(parts.kind)),
      texts_(std::move(parts.texts)),
      by_text_(std::move(parts.by_text)),
      normalizers_(std::move(parts.normalizers)),
      pre_tokenizer_(std::move(parts.pre_tokenizer)),
      model_(parts.bpe, std::move(parts.forms), std::move(parts.merges)),
      decoder_(std::move(parts.decoder)),
      flags_(texts_.size()),
      prefix_(std::move(parts.prefix)),
      suffix_(std::move(parts.suffix)),
      bos_(parts.bos),
      eos_(parts.eos),
      end_of_generation_(std::move(parts.end_of_generation)) {
  std::map<TokenId, std::string> renamed;  // Hugging Face decodes these tokens to what it looks for in the text
  for (const AddedToken& token : parts.added) {
    if (token.special) flags_[index(token.id)] |= kSpecialToken;
    if (token.normalized) {
      const std::string pattern = normalized(normalizers_, token.content);
      added_normalized_.add(token, pattern);
      if (pattern != token.content) renamed.emplace(token.id, pattern);
    } else {
      added_raw_.add(token, token.content);
    }
  }
  bytes_.reserve(texts_.size(), texts_.size() * 8);
  for (TokenId id = 0; has(id); ++id) {
    if (decoder_.byte_fallback && byte_of_fallback_token(texts_[index(id)]) >= 0) flags_[index(id)] |= kByteToken;
    const auto other = renamed.find(id);
    bytes_.push_back(decoded(id, other == renamed.end() ? std::string(texts_[index(id)]) : other->second));
  }
  if (pre_tokenizer_.splitters.empty()) model_.cut_before(kSpaceSymbol);
  std::ranges::sort(end_of_generation_);
  const auto repeated = std::ranges::unique(end_of_generation_);
  end_of_generation_.erase(repeated.begin(), repeated.end());
}

std::string BpeTokenizer::decoded(TokenId id, std::string text) const {
  if (decoder_.byte_level) {
    auto bytes = bytes_of_spelling(text);
    return bytes ? std::move(*bytes) : text;
  }
  if (flags_[index(id)] & kByteToken) return std::string(1, static_cast<char>(byte_of_fallback_token(text)));
  for (const auto& [pattern, content] : decoder_.replacements) {
    for (std::size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, at + content.size())) {
      text.replace(at, pattern.size(), content);
    }
  }
  return text;
}

std::optional<TokenId> BpeTokenizer::find(std::string_view token_text) const noexcept {
  const TokenId id = by_text_.find(texts_, token_text);
  return id >= 0 ? std::optional(id) : std::nullopt;
}

std::vector<TokenId> BpeTokenizer::encode(std::span<const TextPiece> pieces, bool add_special) const {
  std::vector<TokenId> out;
  if (add_special) out = prefix_;
  const MarkedText text(pieces);
  Scratch scratch;
  std::vector<Segment> segments;
  added_raw_.split(text, segments);
  for (const Segment& segment : segments) {
    if (segment.token >= 0) {
      out.push_back(segment.token);
    } else if (segments.size() == 1) {
      encode_segment(text, true, scratch, out);
    } else {
      MarkedText part;
      part.append(text, segment.begin, segment.end);
      encode_segment(part, segment.begin == 0, scratch, out);
    }
  }
  if (add_special) out.insert(out.end(), suffix_.begin(), suffix_.end());
  return out;
}

void BpeTokenizer::encode_segment(const MarkedText& raw, bool at_start, Scratch& scratch,
                                  std::vector<TokenId>& out) const {
  MarkedText rewritten;
  if (!normalizers_.empty()) {
    rewritten = raw;
    for (const auto& normalizer : normalizers_) normalizer->apply(rewritten);
  }
  const MarkedText& text = normalizers_.empty() ? raw : rewritten;
  scratch.segments.clear();
  added_normalized_.split(text, scratch.segments);
  for (const Segment& segment : scratch.segments) {
    if (segment.token >= 0) {
      out.push_back(segment.token);
      continue;
    }
    const std::string_view words = text.text().substr(segment.begin, segment.end - segment.begin);
    if (pre_tokenizer_.rewrites()) {
      encode_words(pre_tokenizer_.rewritten(words, at_start && segment.begin == 0), scratch, out);
    } else {
      encode_words(words, scratch, out);
    }
  }
}

void BpeTokenizer::encode_words(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const {
  pre_tokenizer_.split(text, scratch.words, scratch.spare);
  for (const Word& word : scratch.words) {
    model_.encode(text.substr(word.begin, word.end - word.begin), scratch.merge, out);
  }
}

std::string BpeTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  TextAssembler assembler(decoder_.strip_leading_space);
  std::string out;
  for (const TokenId id : ids) {
    if (token_text(id).empty() || (skip_special && is_special(id))) continue;
    out += assembler.push(bytes_[index(id)], is_byte_fallback(id));
  }
  return out + assembler.finish();
}

}  // namespace

std::shared_ptr<const Tokenizer> make_bpe_tokenizer(TokenizerParts parts) {
  return std::make_shared<BpeTokenizer>(std::move(parts));
}

StringTable make_forms(const StringTable& texts, const std::vector<bool>& hidden, bool byte_level) {
  StringTable forms;
  forms.reserve(texts.size(), texts.size() * 8);
  for (std::size_t id = 0; id < texts.size(); ++id) {
    if (hidden[id]) {
      forms.push_back("");
    } else {
      forms.push_back(byte_level ? bytes_of_spelling(texts[id]).value_or("") : std::string(texts[id]));
    }
  }
  return forms;
}

std::vector<TokenId> find_end_of_generation(const TokenizerParts& parts) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "</s>",          "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>",
      "<end_of_turn>", "<|end|>",       "<|eot|>",    "<|return|>", "<|call|>",   "<|end_of_turn|>",
  };
  std::vector<TokenId> out;
  if (parts.eos) out.push_back(*parts.eos);
  for (const AddedToken& token : parts.added) {
    if (token.special && std::ranges::find(kNames, token.content) != kNames.end()) out.push_back(token.id);
  }
  return out;
}

int byte_of_fallback_token(std::string_view text) noexcept {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace millrace::text
