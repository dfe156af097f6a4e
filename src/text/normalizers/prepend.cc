#include "text/containers/tokenizer_components.h"

// {"type": "Prepend", "prepend": "\u2581"}: in front of a text that is not empty.
namespace millrace::text::normalizers {
namespace {

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(MarkedText& text) const override { text.prepend(prefix_); }

 private:
  std::string prefix_;
};

}  // namespace

ComponentReader prepend() {
  return {"Prepend", [](const JsonNode& node, TokenizerParts& parts) {
            parts.normalizers.push_back(std::make_unique<Prepend>(short_text(node["prepend"])));
          }};
}

}  // namespace millrace::text::normalizers
