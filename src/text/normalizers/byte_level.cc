#include "text/bpe/byte_alphabet.h"
#include "text/character_rewriting.h"
#include "text/containers/tokenizer_components.h"

// {"type": "ByteLevel"}: bytes spelled in GPT-2's alphabet.
namespace millrace::text::normalizers {
namespace {

// The letters of ASCII and its punctuation spell themselves.
constexpr bool spells_itself(char32_t c) { return c > ' ' && c < 0x7F; }
constexpr FirstBytes kFirstOfBytes = FirstBytes::of([](char32_t c) { return !spells_itself(c); });

class ByteLevel final : public Normalizer {
 public:
  void apply(MarkedText& text) const override {
    rewrite_characters(
        text, kFirstOfBytes, [](char32_t c) { return !spells_itself(c); },
        [](char32_t c, std::string& out) {
          std::string bytes;
          unicode::append_utf8(bytes, c);
          out += spelling_of_bytes(bytes);
        });
  }
};

}  // namespace

ComponentReader byte_level() {
  return {"ByteLevel",
          [](const JsonNode&, TokenizerParts& parts) { parts.normalizers.push_back(std::make_unique<ByteLevel>()); }};
}

}  // namespace millrace::text::normalizers
