#include "text/parts_tokenizer.h"

#include <algorithm>
#include <map>

#include "text/decoder.h"
#include "text/fill_in_middle.h"
#include "text/span_trimming.h"

namespace millrace::text {
namespace {

// The one Tokenizer there is: added tokens, normalizers, added tokens again, pre-tokenizer, model, post-processor.
class PartsTokenizer final : public Tokenizer {
 public:
  explicit PartsTokenizer(TokenizerParts parts);

  std::vector<TokenId> encode(std::span<const TextPiece> pieces, bool add_special) const override {
    Encoding out;
    encode_into(pieces, add_special, false, out);
    return std::move(out.ids);
  }
  Encoding encode_with_spans(std::span<const TextPiece> pieces, bool add_special) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string token_bytes(TokenId id) const override;
  const DecoderList& decoders() const noexcept override { return p_.decoders; }
  std::string_view decoder_text(TokenId id) const noexcept override;
  int vocab_size() const noexcept override { return static_cast<int>(p_.texts.size()); }
  std::string_view token_text(TokenId id) const noexcept override {
    if (const auto other = in_holes_.find(id); other != in_holes_.end()) return other->second;
    return has(id) ? p_.texts[index(id)] : "";
  }
  std::optional<TokenId> find(std::string_view token_text) const noexcept override;
  bool is_special(TokenId id) const noexcept override { return has(id) && special_[index(id)]; }
  std::optional<TokenId> bos() const noexcept override { return p_.bos; }
  std::optional<TokenId> eos() const noexcept override { return p_.eos; }
  bool adds_bos() const noexcept override { return p_.bos && std::ranges::find(p_.prefix, *p_.bos) != p_.prefix.end(); }
  std::span<const TokenId> end_of_generation() const noexcept override { return p_.end_of_generation; }
  const MiddleSpelling* middle_spelling() const noexcept override { return middle_ ? &*middle_ : nullptr; }
  std::string_view kind() const noexcept override { return p_.kind; }

 private:
  // One encode call.
  struct Run {
    Encoding& out;
    bool with_spans;
    std::vector<Segment> segments;
    WordText words;
    std::vector<Word> places;  // of a word's tokens in it
    ModelScratch scratch;
  };

  static std::size_t index(TokenId id) { return static_cast<std::size_t>(id); }
  bool has(TokenId id) const noexcept { return id >= 0 && index(id) < p_.texts.size(); }
  void encode_into(std::span<const TextPiece> pieces, bool add_special, bool with_spans, Encoding& out) const;
  void encode_segment(const MarkedText& raw, bool at_start, Run& run) const;
  void encode_words(const MarkedText& text, bool at_start, Run& run) const;
  void push_added(const MarkedText& text, const Segment& segment, Run& run) const;

  TokenizerParts p_;
  AddedTokenMatcher added_raw_, added_normalized_;
  std::vector<bool> special_;
  std::optional<MiddleSpelling> middle_;
  std::map<TokenId, std::string> renamed_;  // Hugging Face decodes these tokens to what it looks for in the text
  std::map<TokenId, std::string> in_holes_;
};

PartsTokenizer::PartsTokenizer(TokenizerParts parts)
    : p_(std::move(parts)), special_(p_.texts.size()), middle_(find_middle_spelling(p_)) {
  for (const auto& [text, id] : p_.in_holes) in_holes_.emplace(id, text);
  for (const AddedToken& token : p_.added) {
    if (token.special) special_[index(token.id)] = true;
    if (token.normalized) {
      const std::string pattern = normalized(p_.normalizers, token.content);
      added_normalized_.add(token, pattern);
      if (pattern != token.content) renamed_.emplace(token.id, pattern);
    } else {
      added_raw_.add(token, token.content);
    }
  }
}

std::optional<TokenId> PartsTokenizer::find(std::string_view token_text) const noexcept {
  const TokenId id = p_.find(token_text);
  return id >= 0 ? std::optional(id) : std::nullopt;
}

std::string_view PartsTokenizer::decoder_text(TokenId id) const noexcept {
  const auto other = renamed_.empty() ? renamed_.end() : renamed_.find(id);
  return other == renamed_.end() ? token_text(id) : other->second;
}

std::string PartsTokenizer::token_bytes(TokenId id) const {
  std::string bytes(decoder_text(id));
  if (!bytes.empty()) {
    for (const auto& decoder : p_.decoders) decoder->token_bytes(bytes);
  }
  return bytes;
}

Tokenizer::Encoding PartsTokenizer::encode_with_spans(std::span<const TextPiece> pieces, bool add_special) const {
  Encoding out;
  encode_into(pieces, add_special, true, out);
  return out;
}

void PartsTokenizer::encode_into(std::span<const TextPiece> pieces, bool add_special, bool with_spans,
                                 Encoding& out) const {
  const auto add_around = [&](const std::vector<TokenId>& ids) {
    if (!add_special) return;
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    if (with_spans) out.spans.resize(out.ids.size());
  };
  add_around(p_.prefix);
  const MarkedText text(pieces, with_spans);
  Run run{.out = out, .with_spans = with_spans};
  std::vector<Segment> segments;
  added_raw_.split(text, segments);
  for (const Segment& segment : segments) {
    if (segment.token >= 0) {
      push_added(text, segment, run);
    } else if (segments.size() == 1) {
      encode_segment(text, true, run);
    } else {
      MarkedText part;
      part.append(text, segment.begin, segment.end);
      encode_segment(part, segment.begin == 0, run);
    }
  }
  if (with_spans && p_.trims_spans) trim_spans(p_, out);
  add_around(p_.suffix);
}

// An added token may have taken white space beside it.
void PartsTokenizer::push_added(const MarkedText& text, const Segment& segment, Run& run) const {
  run.out.ids.push_back(segment.token);
  if (!run.with_spans) return;
  const Word inside =
      p_.trims_spans ? without_spaces(text.text(), {segment.begin, segment.end}) : Word{segment.begin, segment.end};
  run.out.spans.push_back(inside.begin < inside.end ? text.source(inside.begin, inside.end) : TokenSpan{});
}

void PartsTokenizer::encode_segment(const MarkedText& raw, bool at_start, Run& run) const {
  MarkedText rewritten;
  if (!p_.normalizers.empty()) {
    rewritten = raw;
    for (const auto& normalizer : p_.normalizers) normalizer->apply(rewritten);
  }
  const MarkedText& text = p_.normalizers.empty() ? raw : rewritten;
  run.segments.clear();
  added_normalized_.split(text, run.segments);
  for (const Segment& segment : run.segments) {
    if (segment.token >= 0) {
      push_added(text, segment, run);
    } else if (run.segments.size() == 1) {
      encode_words(text, at_start, run);
    } else {
      MarkedText part;
      part.append(text, segment.begin, segment.end);
      encode_words(part, at_start && segment.begin == 0, run);
    }
  }
}

void PartsTokenizer::encode_words(const MarkedText& segment, bool at_start, Run& run) const {
  run.words.reset(segment, at_start);
  p_.pre_tokenizer.run(run.words);
  const std::string_view text = run.words.text();
  for (const Word& word : run.words.words) {
    run.places.clear();
    p_.model->encode(text.substr(word.begin, word.end - word.begin), run.scratch, run.out.ids,
                     run.with_spans ? &run.places : nullptr);
    for (const Word& place : run.places) {
      const std::size_t begin = word.begin + place.begin, end = word.begin + place.end;
      run.out.spans.push_back(begin < end ? run.words.marked().source(begin, end) : TokenSpan{});
    }
  }
}

std::string PartsTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  DecodeStream stream(p_.decoders);
  for (const TokenId id : ids) {
    const std::string_view token = decoder_text(id);
    if (!token.empty() && !(skip_special && is_special(id))) stream.push(token);
  }
  stream.finish();
  return stream.take();
}

}  // namespace

std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerParts parts) {
  return std::make_shared<PartsTokenizer>(std::move(parts));
}

}  // namespace millrace::text
