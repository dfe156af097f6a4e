#include "text/bpe/byte_alphabet.h"
#include "text/containers/tokenizer_components.h"
#include "unicode/utf8_assembler.h"

// {"type": "ByteLevel"}: spellings in GPT-2's byte alphabet become bytes, all of them one text. A token with a
// character that is not in the alphabet stands for its own UTF-8.
namespace millrace::text::decoders {
namespace {

struct Options {};

void token_bytes(const Options&, std::string& token) {
  if (auto bytes = bytes_of_spelling(token)) token = *std::move(bytes);
}

class Stage final : public DecodeStage {
 public:
  explicit Stage(const Options&) {}

  void push(std::string_view part, bool) override {
    bytes_.assign(part);
    token_bytes({}, bytes_);
    send(text_.push(bytes_));
  }
  void finish() override { send(text_.finish()); }

 private:
  void send(const std::string& text) {
    if (text.empty()) return;
    emit(text, first_);
    first_ = false;
  }

  unicode::Utf8Assembler text_;
  std::string bytes_;
  bool first_ = true;
};

}  // namespace

ComponentReader byte_level() {
  return {"ByteLevel", [](const JsonNode&, TokenizerParts& parts) {
            parts.add_decoder(std::make_unique<DecoderOf<Stage, Options>>(Options{}, token_bytes, true));
          }};
}

}  // namespace millrace::text::decoders
