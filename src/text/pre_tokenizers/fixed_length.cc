#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "FixedLength", "length": 5}: words of so many characters; the last may be shorter.
namespace millrace::text::pre_tokenizers {
namespace {

class FixedLengthSplitter final : public WordSplitter {
 public:
  explicit FixedLengthSplitter(std::int64_t length) : length_(length) {}

  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    std::size_t begin = word.begin;
    std::int64_t characters = 0;
    for (std::size_t at = word.begin; at < word.end;) {
      at += unicode::code_point_at(text, at).size;
      if (++characters < length_ && at < word.end) continue;
      out.push_back({begin, at});
      begin = at;
      characters = 0;
    }
  }

 private:
  std::int64_t length_;
};

}  // namespace

ComponentReader fixed_length() {
  return {"FixedLength", [](const JsonNode& node, TokenizerParts& parts) {
            const std::int64_t length = node["length"].is_null() ? 5 : node["length"].integer();
            if (length < 1) node["length"].wrong("at least 1");
            parts.add_step(std::make_unique<FixedLengthSplitter>(length));
          }};
}

}  // namespace millrace::text::pre_tokenizers
