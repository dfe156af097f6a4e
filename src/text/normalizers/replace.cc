#include "text/tokenizer_components.h"
#include "text/unicode.h"

// {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
namespace millrace::text::normalizers {
namespace {

class Replace final : public Normalizer {
 public:
  Replace(std::string pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    std::size_t at = bytes.find(pattern_);
    if (at == bytes.npos) return;
    MarkedText out;
    std::size_t done = 0;
    for (; at != bytes.npos; at = bytes.find(pattern_, done)) {
      if (done < at) out.append(text, done, at);
      done = at + pattern_.size();
      out.append(content_, text, previous_start(bytes, done), done);  // comes from where the match ends
    }
    if (done < bytes.size()) out.append(text, done, bytes.size());
    text = std::move(out);
  }

 private:
  std::string pattern_, content_;
};

}  // namespace

ComponentReader replace() {
  return {"Replace", [](const JsonNode& node, TokenizerParts& parts) {
            parts.normalizers.push_back(std::make_unique<Replace>(literal_pattern(node), short_text(node["content"])));
          }};
}

}  // namespace millrace::text::normalizers
