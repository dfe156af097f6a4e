#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "Strip", "strip_left": true, "strip_right": true}: no white space at the ends.
namespace millrace::text::normalizers {
namespace {

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  void apply(MarkedText& text) const override {
    const std::string_view bytes = text.text();
    const auto is_space = [&](std::size_t at) {
      return (unicode::unicode_classes(unicode::code_point_at(bytes, at).value) & unicode::kSpace) != 0;
    };
    std::size_t begin = 0, end = bytes.size();
    while (left_ && begin < end && is_space(begin)) begin += unicode::code_point_at(bytes, begin).size;
    while (right_ && begin < end && is_space(unicode::previous_start(bytes, end)))
      end = unicode::previous_start(bytes, end);
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
