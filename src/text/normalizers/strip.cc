#include "text/tokenizer_components.h"
#include "text/unicode.h"

// {"type": "Strip", "strip_left": true, "strip_right": true}: no white space at the ends.
namespace millrace::text::normalizers {
namespace {

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    const auto is_space = [&](std::size_t at) {
      return (unicode_classes(code_point_at(bytes, at).value) & kSpace) != 0;
    };
    std::size_t begin = 0, end = bytes.size();
    while (left_ && begin < end && is_space(begin)) begin += code_point_at(bytes, begin).size;
    while (right_ && begin < end && is_space(previous_start(bytes, end))) end = previous_start(bytes, end);
    if (begin == 0 && end == bytes.size()) return;
    MarkedText out;
    if (begin < end) out.append(text, begin, end);
    text = std::move(out);
  }

 private:
  bool left_, right_;
};

}  // namespace

ComponentReader strip() {
  return {"Strip", [](const JsonNode& node, TokenizerParts& parts) {
            parts.normalizers.push_back(
                std::make_unique<Strip>(node["strip_left"].boolean_or(true), node["strip_right"].boolean_or(true)));
          }};
}

}  // namespace millrace::text::normalizers
