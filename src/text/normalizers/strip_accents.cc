#include "text/character_rewriting.h"
#include "text/containers/tokenizer_components.h"
#include "unicode/normalization_classes.h"

// {"type": "StripAccents"}: combining marks go; after NFD or NFKD, that is every accent.
namespace millrace::text::normalizers {
namespace {

class StripAccents final : public Normalizer {
 public:
  void apply(MarkedText& text) const override {
    rewrite_characters(
        text, kBeyondAscii,
        [](char32_t c) { return (unicode::normalization_classes(c) & unicode::kCombiningMark) != 0; },
        [](char32_t, std::string&) {});
  }
};

}  // namespace

ComponentReader strip_accents() {
  return {"StripAccents", [](const JsonNode&, TokenizerParts& parts) {
            parts.normalizers.push_back(std::make_unique<StripAccents>());
          }};
}

}  // namespace millrace::text::normalizers
