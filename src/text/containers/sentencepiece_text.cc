#include "text/containers/sentencepiece_text.h"

#include "text/byte_trie.h"
#include "text/character_rewriting.h"
#include "text/charsmap.h"
#include "unicode/code_points.h"

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
    first_bytes_ = FirstBytes::of_bytes([this](std::size_t byte) {
      const char c = static_cast<char>(byte);
      const bool by_rule = byte < 0x80 ? rules_.changes_ascii(static_cast<char32_t>(byte)) : !rules_.empty();
      return c == ' ' || by_rule || user_defined_.step(ByteTrie::kRoot, c) != ByteTrie::kNone;
    });
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
    const std::size_t size = unicode::code_point_at(text, 0).size;
    return {size, text.substr(0, size)};
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
      out.append(space_, source, at, at + unicode::code_point_at(bytes, at).size);
    }
    append_units(source, at, out);
    if (removes_spaces_) {
      while (out.text().ends_with(space_)) out.truncate(out.text().size() - space_.size());
    }
    if (adds_prefix_ && space_as_suffix_)
      out.append(space_, source, unicode::previous_start(bytes, bytes.size()), bytes.size());
    return out;
  }

  void append_units(const MarkedText& source, std::size_t at, MarkedText& out) const {
    const std::string_view bytes = source.text();
    bool after_space = removes_spaces_;
    std::string escaped;
    while (at < bytes.size()) {
      if (const std::size_t end = first_bytes_.next_with_base(bytes, at); end > at) {
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
  FirstBytes first_bytes_;  // where the text may not stay as it is
};

}  // namespace

std::unique_ptr<const PreTokenizerStep> make_sentencepiece_text(const SentencePieceModel& model,
                                                                const StringTable& user_defined) {
  return std::make_unique<SentencePieceText>(model, user_defined);
}

}  // namespace millrace::text
