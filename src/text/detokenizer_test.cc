#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "text/testing/vocabularies.h"
#include "unicode/code_points.h"

namespace millrace::text {
namespace {

TEST(Detokenizer, HoldsBytesUntilTheirCharacterIsWhole) {
  const auto tokenizer = load_gguf_tokenizer(small_byte_level_vocabulary("gpt2")).or_throw();
  const std::vector<TokenId> ids = tokenizer->encode("\xf0\x9f\x98\x80", false);
  Detokenizer stream(tokenizer, true);
  ASSERT_EQ(ids.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stream.push(ids[static_cast<std::size_t>(i)]), "");
  EXPECT_EQ(stream.push(ids[3]), "\xf0\x9f\x98\x80");
  stream.push(ids[0]);
  EXPECT_EQ(stream.finish(), unicode::kReplacementCharacter);
}

TEST(Detokenizer, StripsOnlyTheFirstSpaceOfTheText) {
  const auto tokenizer = load_gguf_tokenizer(small_sentence_piece_vocabulary()).or_throw();
  Detokenizer stream(tokenizer, true);
  EXPECT_EQ(stream.push(1), "");
  EXPECT_EQ(stream.push(263), "ab");
  EXPECT_EQ(stream.push(263), " ab");
}

TEST(Detokenizer, JudgesARunOfFallbackBytesAsAWhole) {
  const auto tokenizer = load_gguf_tokenizer(small_sentence_piece_vocabulary()).or_throw();
  const std::vector<TokenId> good = {3 + 0xC3, 3 + 0xA9, 260}, bad = {3 + 0xC3, 3 + 0xA9, 3 + 0xFF, 260};
  EXPECT_EQ(tokenizer->decode(good, false),
            "\xc3\xa9"
            "a");
  EXPECT_EQ(tokenizer->decode(bad, false),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
            "a");
  Detokenizer stream(tokenizer, false);
  std::string text;
  for (const TokenId id : bad) text += stream.push(id);
  EXPECT_EQ(text + stream.finish(), tokenizer->decode(bad, false));
}

}  // namespace
}  // namespace millrace::text
