#include "text/character_rewriting.h"
#include "text/containers/tokenizer_components.h"
#include "text/unicode_normalization.h"
#include "unicode/normalization_classes.h"

// {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase":
// true}: what the first BERT did to text. strip_accents: null is as lowercase.
namespace millrace::text::normalizers {
namespace {

// The blocks that the first BERT called so. (Extension E begins at U+2B820; the original's typing error is kept.)
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_removed(char32_t c) { return (unicode::normalization_classes(c) & unicode::kUnclean) != 0; }
bool becomes_space(char32_t c) { return c != ' ' && (unicode::unicode_classes(c) & unicode::kSpace) && !is_removed(c); }

constexpr FirstBytes kControls = FirstBytes::of([](char32_t c) { return c < ' ' || c == 0x7F; });

class BertNormalizer final : public Normalizer {
 public:
  BertNormalizer(bool cleans, bool isolates_chinese, bool strips_accents, bool lowercases)
      : cleans_(cleans), isolates_chinese_(isolates_chinese), lowercases_(lowercases) {
    if (strips_accents) nfd_ = make_unicode_normalizer(NormalizationForm::kNfd);
  }

  void apply(MarkedText& text) const override {
    if (cleans_) {
      rewrite_characters(
          text, kControls, [](char32_t c) { return is_removed(c) || becomes_space(c); },
          [](char32_t c, std::string& out) {
            if (!is_removed(c)) out.push_back(' ');
          });
    }
    if (isolates_chinese_) {
      rewrite_characters(text, kBeyondAscii, is_chinese, [](char32_t c, std::string& out) {
        out.push_back(' ');
        unicode::append_utf8(out, c);
        out.push_back(' ');
      });
    }
    if (nfd_) nfd_->apply(text);
    if (nfd_ || lowercases_) fold(text);
  }

 private:
  // Strips what NFD made of accents, and lowers.
  void fold(MarkedText& text) const {
    if (lowercases_) {
      for (char& c : text.bytes()) c = static_cast<char>(c + (c >= 'A' && c <= 'Z' ? 'a' - 'A' : 0));
    }
    const int asked = (nfd_ ? unicode::kNonspacingMark : 0) | (lowercases_ ? unicode::kHasLowerCase : 0);
    rewrite_characters(
        text, kBeyondAscii, [=](char32_t c) { return (unicode::normalization_classes(c) & asked) != 0; },
        [this](char32_t c, std::string& out) {
          if (nfd_ && (unicode::normalization_classes(c) & unicode::kNonspacingMark)) return;
          unicode::append_lower_case(out, c);
        });
  }

  bool cleans_, isolates_chinese_, lowercases_;
  std::unique_ptr<const Normalizer> nfd_;  // null: accents stay
};

void read_bert(const JsonNode& node, TokenizerParts& parts) {
  const bool lowercases = node["lowercase"].boolean_or(true);
  parts.normalizers.push_back(std::make_unique<BertNormalizer>(
      node["clean_text"].boolean_or(true), node["handle_chinese_chars"].boolean_or(true),
      node["strip_accents"].boolean_or(lowercases), lowercases));
}

}  // namespace

ComponentReader bert() { return {"BertNormalizer", read_bert}; }

}  // namespace millrace::text::normalizers
