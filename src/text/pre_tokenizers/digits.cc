#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "Digits", "individual_digits": true}: runs of digits, or every digit, on their own.
namespace millrace::text::pre_tokenizers {
namespace {

class DigitSplitter final : public WordSplitter {
 public:
  explicit DigitSplitter(bool individual) : individual_(individual) {}

  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    std::size_t begin = word.begin;
    bool in_digits = false;
    for (std::size_t at = word.begin; at < word.end;) {
      const unicode::CodePoint c = unicode::code_point_at(text, at);
      const bool digit = (unicode::unicode_classes(c.value) & unicode::kDigit) != 0;
      if (at > begin && (digit != in_digits || (digit && individual_))) {
        out.push_back({begin, at});
        begin = at;
      }
      in_digits = digit;
      at += c.size;
    }
    if (begin < word.end) out.push_back({begin, word.end});
  }

 private:
  bool individual_;
};

}  // namespace

ComponentReader digits() {
  return {"Digits", [](const JsonNode& node, TokenizerParts& parts) {
            parts.add_step(std::make_unique<DigitSplitter>(node["individual_digits"].boolean_or(false)));
          }};
}

}  // namespace millrace::text::pre_tokenizers
