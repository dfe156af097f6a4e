#include "text/blank_tokenizer.h"

#include "text/decoder.h"

namespace millrace::text {
namespace {

using text::TokenId;

class BlankTokenizer final : public text::Tokenizer {
 public:
  explicit BlankTokenizer(std::int64_t vocabulary) : vocabulary_(static_cast<int>(vocabulary)) {}

  std::vector<TokenId> encode(std::span<const text::TextPiece>, bool) const override { return {}; }
  Encoding encode_with_spans(std::span<const text::TextPiece>, bool) const override { return {}; }
  std::string decode(std::span<const TokenId>, bool) const override { return {}; }
  std::string token_bytes(TokenId) const override { return {}; }
  const text::DecoderList& decoders() const noexcept override { return decoders_; }
  int vocab_size() const noexcept override { return vocabulary_; }
  std::string_view token_text(TokenId) const noexcept override { return {}; }
  std::optional<TokenId> find(std::string_view) const noexcept override { return std::nullopt; }
  bool is_special(TokenId) const noexcept override { return false; }
  std::optional<TokenId> bos() const noexcept override { return std::nullopt; }
  std::optional<TokenId> eos() const noexcept override { return std::nullopt; }
  bool adds_bos() const noexcept override { return false; }
  std::span<const TokenId> end_of_generation() const noexcept override { return {}; }
  std::string_view kind() const noexcept override { return "none"; }

 private:
  int vocabulary_;
  text::DecoderList decoders_;
};

}  // namespace

std::shared_ptr<const text::Tokenizer> blank_tokenizer(std::int64_t vocabulary) {
  return std::make_shared<BlankTokenizer>(vocabulary);
}

}  // namespace millrace::text
