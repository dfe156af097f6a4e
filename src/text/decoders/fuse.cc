#include "text/containers/tokenizer_components.h"

// {"type": "Fuse"}: all strings become one.
namespace millrace::text::decoders {
namespace {

struct Options {};

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options&) {}
  void push(std::string_view part, bool) override {
    emit(part, first_);
    first_ = false;
  }

 private:
  bool first_ = true;
};

}  // namespace

ComponentReader fuse() {
  return {"Fuse", [](const JsonNode&, TokenizerParts& parts) {
            parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(Options{}, nullptr, true));
          }};
}

}  // namespace millrace::text::decoders
