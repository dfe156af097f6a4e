// Any bytes as a SentencePiece tokenizer.model: loading fails with an error or gives a tokenizer that encodes, decodes
// and streams.
#include <cstdint>

#include "streaming_check.h"

namespace {

using namespace millrace::text;

void check_text(const std::shared_ptr<const Tokenizer>& tokenizer, std::string_view text, bool trusted) {
  const TextPiece piece{std::string(text), trusted};
  const auto encoding = tokenizer->encode_with_spans(std::span(&piece, 1), true);
  require(encoding.ids == tokenizer->encode(text, true, trusted) && encoding.spans.size() == encoding.ids.size());
  for (const TokenSpan& span : encoding.spans) require(span.begin <= span.end && span.end <= text.size());
  for (const TokenId id : encoding.ids) require(id >= 0 && id < tokenizer->vocab_size());
  check_streaming(tokenizer, encoding.ids, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view model(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = load_sentencepiece_model(model, R"({"add_eos_token": true, "legacy": false})");
  if (!tokenizer) {
    require(!tokenizer.error().message.empty());
    return 0;
  }
  for (const char* text :
       {"", "Hello, world 123  \n\n x ", "<s> \xc3\xa9\xf0\x9f\x98\x80\xff a\xcc\x81'LL\xef\xac\x81 ab"}) {
    check_text(*tokenizer, text, true);
    check_text(*tokenizer, text, false);
  }
  return 0;
}
