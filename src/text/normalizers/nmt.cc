#include "text/character_rewriting.h"
#include "text/containers/tokenizer_components.h"

// {"type": "Nmt"}: the part of SentencePiece's nmt_nfkc rules that is not NFKC: controls go, other spaces become " ".
namespace millrace::text::normalizers {
namespace {

constexpr bool is_removed_by_nmt(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

constexpr bool becomes_space_by_nmt(char32_t c) {
  return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

constexpr bool changed_by_nmt(char32_t c) { return is_removed_by_nmt(c) || becomes_space_by_nmt(c); }
constexpr FirstBytes kChangedByNmt = FirstBytes::of(changed_by_nmt);

class Nmt final : public Normalizer {
 public:
  void apply(MarkedText& text) const override {
    rewrite_characters(text, kChangedByNmt, changed_by_nmt, [](char32_t c, std::string& out) {
      if (!is_removed_by_nmt(c)) out.push_back(' ');
    });
  }
};

}  // namespace

ComponentReader nmt() {
  return {"Nmt", [](const JsonNode&, TokenizerParts& parts) { parts.normalizers.push_back(std::make_unique<Nmt>()); }};
}

}  // namespace millrace::text::normalizers
