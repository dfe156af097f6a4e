// Any bytes as text for two fixed vocabularies. The first byte chooses the vocabulary and where trusted text ends.
//   - streaming gives what decoding the whole gives, in whole characters
//   - byte-level vocabularies give back every valid UTF-8 text
//   - untrusted text never becomes a control token
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "text/detokenizer.h"
#include "text/test_vocabularies.h"
#include "text/unicode.h"

namespace {

using namespace millrace::text;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_streaming(const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<TokenId>& ids, bool skip) {
  Detokenizer stream(tokenizer, skip);
  std::string text;
  for (const TokenId id : ids) {
    const std::string part = stream.push(id);
    require(is_valid_utf8(part));
    text += part;
  }
  text += stream.finish();
  require(text == tokenizer->decode(ids, skip));
}

std::shared_ptr<const Tokenizer> tokenizer_number(unsigned n) {
  static const std::shared_ptr<const Tokenizer> all[] = {
      load_gguf_tokenizer(small_byte_level_vocabulary("gpt2")).or_throw(),
      load_gguf_tokenizer(small_byte_level_vocabulary("smollm")).or_throw(),
      load_gguf_tokenizer(small_byte_level_vocabulary("llama-bpe")).or_throw(),
      load_gguf_tokenizer(small_sentence_piece_vocabulary()).or_throw(),
  };
  return all[n % 4];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto tokenizer = tokenizer_number(data[0]);
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t border = std::min<std::size_t>(data[0] / 4, text.size());

  const std::vector<TokenId> ids =
      tokenizer->encode(std::vector<TextPiece>{{text.substr(0, border), true}, {text.substr(border), false}}, false);
  check_streaming(tokenizer, ids, true);
  check_streaming(tokenizer, ids, false);
  if (is_valid_utf8(text) && !tokenizer->strips_leading_space()) require(tokenizer->decode(ids, false) == text);
  for (const TokenId id : tokenizer->encode(text, false, false)) require(!tokenizer->is_special(id));

  std::vector<TokenId> any;  // the same bytes as ids
  for (const char c : text) any.push_back(static_cast<unsigned char>(c) + (data[0] & 8));
  check_streaming(tokenizer, any, (data[0] & 4) != 0);
  return 0;
}
