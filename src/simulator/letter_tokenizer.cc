#include "simulator/letter_tokenizer.h"

#include <string_view>

#include "text/decoder.h"

namespace millrace::simulator {
namespace {

using text::TokenId;

constexpr std::string_view kLetterOf = "#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567";
static_assert(kLetterOf.size() == static_cast<std::size_t>(kLetters));
constexpr TokenId kEnds[] = {kEndOfAnswer};

class LetterTokenizer final : public text::Tokenizer {
 public:
  std::vector<TokenId> encode(std::span<const text::TextPiece>, bool) const override { return {}; }
  Encoding encode_with_spans(std::span<const text::TextPiece>, bool) const override { return {}; }
  std::string decode(std::span<const TokenId>, bool) const override { return {}; }
  std::string token_bytes(TokenId id) const override { return std::string(token_text(id)); }
  const text::DecoderList& decoders() const noexcept override { return decoders_; }
  int vocab_size() const noexcept override { return static_cast<int>(kLetters); }
  std::string_view token_text(TokenId id) const noexcept override {
    return kLetterOf.substr(static_cast<std::size_t>(id), 1);
  }
  std::optional<TokenId> find(std::string_view) const noexcept override { return std::nullopt; }
  bool is_special(TokenId id) const noexcept override { return id == kEndOfAnswer; }
  std::optional<TokenId> bos() const noexcept override { return std::nullopt; }
  std::optional<TokenId> eos() const noexcept override { return kEndOfAnswer; }
  bool adds_bos() const noexcept override { return false; }
  std::span<const TokenId> end_of_generation() const noexcept override { return kEnds; }
  std::string_view kind() const noexcept override { return "letters"; }

 private:
  text::DecoderList decoders_;
};

}  // namespace

char letter_of(std::int32_t token) noexcept { return kLetterOf[static_cast<std::size_t>(token)]; }

std::shared_ptr<const text::Tokenizer> letter_tokenizer() {
  static const auto tokenizer = std::make_shared<LetterTokenizer>();
  return tokenizer;
}

}  // namespace millrace::simulator
