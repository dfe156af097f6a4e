#include "text/character_rewriting.h"
#include "text/containers/tokenizer_components.h"
#include "unicode/normalization_classes.h"

// {"type": "Lowercase"}
namespace millrace::text::normalizers {
namespace {

class Lowercase final : public Normalizer {
 public:
  void apply(MarkedText& text) const override {
    for (char& c : text.bytes()) c = static_cast<char>(c + (c >= 'A' && c <= 'Z' ? 'a' - 'A' : 0));
    rewrite_characters(
        text, kBeyondAscii,
        [](char32_t c) { return (unicode::normalization_classes(c) & unicode::kHasLowerCase) != 0; },
        [](char32_t c, std::string& out) { unicode::append_lower_case(out, c); });
  }
};

}  // namespace

ComponentReader lowercase() {
  return {"Lowercase",
          [](const JsonNode&, TokenizerParts& parts) { parts.normalizers.push_back(std::make_unique<Lowercase>()); }};
}

}  // namespace millrace::text::normalizers
