#include "text/sentencepiece_text.h"

#include <array>

#include "text/byte_trie.h"
#include "text/charsmap.h"
#include "text/unicode.h"

namespace millrace::text {
namespace {

class SentencePieceText final : public PreTokenizerStep {
 public:
  SentencePieceText(const SentencePieceModel& model, const StringTable& user_defined)
      : adds_prefix_(model.add_dummy_prefix),
        prefixes_every_segment_(model.prefixes_every_segment),
        removes_spaces_(model.remove_extra_whitespaces),
        space_as_suffix_(model.whitespace_as_suffix),
        space_(model.escape_whitespaces ? kSpaceSymbol : " "),
        user_defined_(user_defined) {
    if (!model.charsmap.empty()) rules_ = Charsmap(model.charsmap, "precompiled_charsmap");
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      stops_[static_cast<std::size_t>(byte)] =
          c == ' ' || rules_.begins_rule(c) || user_defined_.step(ByteTrie::kRoot, c) != ByteTrie::kNone;
    }
  }

  void apply(WordText& text) const override {
    MarkedText out = prepared(text.marked(), prefixes_every_segment_ || text.at_start());
    std::vector<Word> words;
    if (!out.text().empty()) words.push_back({0, out.text().size()});
    text.rewrite(std::move(out), std::move(words));
  }

 private:
  // What stands for the beginning of a text: `size` bytes of it become `text`.
  struct Unit {
    std::size_t size;
    std::string_view text;
  };
  Unit unit_at(std::string_view text) const {
    if (const std::size_t size = user_defined_.longest_prefix(text); size > 0) return {size, text.substr(0, size)};
    if (const Charsmap::Rule rule = rules_.longest(text); rule.size > 0) return {rule.size, rule.text};
    const std::size_t size = code_point_at(text, 0).size;
    return {size, text.substr(0, size)};
  }

  // The end of the stretch from `at` on that stays as it is.
  std::size_t plain_end(std::string_view text, std::size_t at) const {
    const auto stops = [&](char c) {
      return stops_[static_cast<unsigned char>(c)] && (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    };
    while (at < text.size() && !stops(text[at])) ++at;
    return at;
  }

  MarkedText prepared(const MarkedText& source, bool prefix) const {
    const std::string_view bytes = source.text();
    MarkedText out;
    std::size_t at = 0;
    while (removes_spaces_ && at < bytes.size()) {
      const Unit unit = unit_at(bytes.substr(at));
      if (unit.text != " ") break;
      at += unit.size;
    }
    if (at == bytes.size()) return out;
    out.reserve(bytes.size() + bytes.size() / 4 + space_.size());
    if (adds_prefix_ && prefix && !space_as_suffix_) {
      out.append(space_, source, at, at + code_point_at(bytes, at).size);
    }
    append_units(source, at, out);
    if (removes_spaces_) {
      while (out.text().ends_with(space_)) out.truncate(out.text().size() - space_.size());
    }
    if (adds_prefix_ && space_as_suffix_) out.append(space_, source, previous_start(bytes, bytes.size()), bytes.size());
    return out;
  }

  void append_units(const MarkedText& source, std::size_t at, MarkedText& out) const {
    const std::string_view bytes = source.text();
    bool after_space = removes_spaces_;
    std::string escaped;
    while (at < bytes.size()) {
      if (const std::size_t end = plain_end(bytes, at); end > at) {
        out.append(source, at, end);
        at = end;
        after_space = false;
        continue;
      }
      const Unit unit = unit_at(bytes.substr(at));
      std::string_view text = unit.text;
      while (after_space && text.starts_with(' ')) text.remove_prefix(1);
      if (!text.empty()) {
        after_space = removes_spaces_ && text.ends_with(' ');
        escaped.clear();
        for (const char c : text) c == ' ' ? escaped.append(space_) : escaped.append(1, c);
        out.append(escaped, source, at, at + unit.size);
      }
      at += unit.size;
    }
  }

  bool adds_prefix_, prefixes_every_segment_, removes_spaces_, space_as_suffix_;
  std::string space_;
  Charsmap rules_;
  ByteTrie user_defined_;
  std::array<bool, 256> stops_{};  // bytes at which the text may not stay as it is
};

}  // namespace

std::unique_ptr<const PreTokenizerStep> make_sentencepiece_text(const SentencePieceModel& model,
                                                                const StringTable& user_defined) {
  return std::make_unique<SentencePieceText>(model, user_defined);
}

}  // namespace millrace::text
