#include "text/joined_bytes_decoder.h"

#include "unicode/utf8_assembler.h"

namespace millrace::text {
namespace {

struct JoinedBytes {
  void (*token_bytes)(std::string&);
};

class JoinedBytesStage final : public DecodeStage {
 public:
  explicit JoinedBytesStage(const JoinedBytes& options) : options_(options) {}

  void push(std::string_view part, bool) override {
    bytes_.assign(part);
    options_.token_bytes(bytes_);
    send(text_.push(bytes_));
  }
  void finish() override { send(text_.finish()); }

 private:
  void send(const std::string& text) {
    if (text.empty()) return;
    emit(text, first_);
    first_ = false;
  }

  JoinedBytes options_;
  unicode::Utf8Assembler text_;
  std::string bytes_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Decoder> joined_bytes_decoder(void (*token_bytes)(std::string&)) {
  const auto of_token = [](const JoinedBytes& options, std::string& token) { options.token_bytes(token); };
  return std::make_unique<DecoderOf<JoinedBytesStage, JoinedBytes>>(JoinedBytes{token_bytes}, of_token, true);
}

}  // namespace millrace::text
