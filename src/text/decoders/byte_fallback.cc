#include "text/byte_fallback.h"

#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "ByteFallback"}: "<0xXX>" tokens are bytes. A run of them is text only if all of it is UTF-8, else one
// U+FFFD a byte; so it is held until it ends.
namespace millrace::text::decoders {
namespace {

struct Options {};

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options&) {}

  void push(std::string_view part, bool begins) override {
    const int byte = begins ? byte_of_fallback_token(part) : -1;
    if (byte >= 0) {
      run_.push_back(static_cast<char>(byte));
    } else {
      flush();
      emit(part, begins);
    }
  }
  void finish() override { flush(); }

 private:
  void flush() {
    if (run_.empty()) return;
    if (unicode::is_valid_utf8(run_)) {
      emit(run_, true);
    } else {
      for (std::size_t i = 0; i < run_.size(); ++i) emit(unicode::kReplacementCharacter, true);
    }
    run_.clear();
  }

  std::string run_;
};

}  // namespace

ComponentReader byte_fallback() {
  return {"ByteFallback", [](const JsonNode& node, TokenizerParts& parts) {
            if (parts.decodes_to_one_text()) node["type"].unsupported("ByteFallback", "it only before Fuse");
            parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(
                Options{}, [](const Options&, std::string& token) { replace_fallback_token(token); }));
          }};
}

}  // namespace millrace::text::decoders
