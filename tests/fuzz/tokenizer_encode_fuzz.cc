// Any bytes as text for fixed vocabularies: one for each way of cutting text into words that GGUF files name, and
// SentencePiece's. The first byte chooses the vocabulary, the second where trusted text ends.
//   - streaming gives what decoding the whole gives, in whole characters
//   - byte-level vocabularies give back every valid UTF-8 text
//   - untrusted text never becomes a control token
//   - spans lie in the text, in order, and go with the same ids
#include <algorithm>
#include <cstdint>

#include "streaming_check.h"
#include "text/containers/gguf_pre_tokenizers.h"
#include "text/testing/vocabularies.h"
#include "unicode/code_points.h"

namespace {

using namespace millrace::text;

struct Vocabulary {
  std::shared_ptr<const Tokenizer> tokenizer;
  bool keeps_text;  // decoding gives back what was encoded
};

const std::vector<Vocabulary>& vocabularies() {
  static const auto all = [] {
    std::vector<Vocabulary> out = {{load_gguf_tokenizer(small_sentence_piece_vocabulary()).or_throw(), false}};
    std::string last;
    for (const GgufPreTokenizer& pre : gguf_pre_tokenizers()) {
      const std::string json = pre_tokenizer_json(pre);
      if (json == last) continue;  // a name that cuts like the one before
      last = json;
      out.push_back({load_gguf_tokenizer(small_byte_level_vocabulary(std::string(pre.name))).or_throw(), !pre.nfc});
    }
    return out;
  }();
  return all;
}

void check_spans(const Tokenizer& tokenizer, std::span<const TextPiece> pieces, const std::vector<TokenId>& ids,
                 std::size_t size) {
  const auto encoding = tokenizer.encode_with_spans(pieces, false);
  require(encoding.ids == ids && encoding.spans.size() == ids.size());
  std::size_t last = 0;
  for (const TokenSpan& span : encoding.spans) {
    require(span.begin <= span.end && span.end <= size && span.end >= last);
    last = span.end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto& [tokenizer, keeps_text] = vocabularies()[data[0] % vocabularies().size()];
  const std::string text(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::size_t border = std::min<std::size_t>(data[1], text.size());

  const std::vector<TextPiece> pieces = {{text.substr(0, border), true}, {text.substr(border), false}};
  const std::vector<TokenId> ids = tokenizer->encode(pieces, false);
  check_spans(*tokenizer, pieces, ids, text.size());
  check_streaming(tokenizer, ids, true);
  check_streaming(tokenizer, ids, false);
  if (keeps_text && millrace::unicode::is_valid_utf8(text)) require(tokenizer->decode(ids, false) == text);
  for (const TokenId id : tokenizer->encode(text, false, false)) require(!tokenizer->is_special(id));

  std::vector<TokenId> any;  // the same bytes as ids
  for (const char c : text) any.push_back(static_cast<unsigned char>(c) + (data[0] & 8));
  check_streaming(tokenizer, any, (data[0] & 4) != 0);
  return 0;
}
