#include "text/containers/tokenizer_json_writer.h"

#include <gtest/gtest.h>

#include "text/testing/vocabularies.h"

namespace millrace::text {
namespace {

constexpr const char* kTexts[] = {"hello hello", "  hello<|e|>\n\nhe  ll 12345", "<tool>I'LL we've e\xcc\x81",
                                  "\xf0\x9f\x98\x80", ""};

class WrittenTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(WrittenTokenizer, EncodesAsTheVocabularyItCameFrom) {
  const GgufVocabulary vocabulary = small_byte_level_vocabulary(GetParam());
  const TokenizerFiles files = tokenizer_files(vocabulary, "").or_throw();
  const auto original = load_gguf_tokenizer(vocabulary).or_throw();
  const auto written = load_tokenizer_json(files.tokenizer_json, files.tokenizer_config_json).or_throw();
  ASSERT_EQ(written->vocab_size(), original->vocab_size());
  for (const char* text : kTexts) {
    for (const bool add_special : {false, true}) {
      const auto ids = original->encode(text, add_special);
      EXPECT_EQ(written->encode(text, add_special), ids) << text;
      EXPECT_EQ(written->decode(ids, true), original->decode(ids, true)) << text;
    }
  }
  EXPECT_EQ(written->bos(), original->bos());
  EXPECT_EQ(written->eos(), original->eos());
  EXPECT_EQ(written->adds_bos(), original->adds_bos());
}

INSTANTIATE_TEST_SUITE_P(PreTokenizers, WrittenTokenizer, testing::Values("gpt2", "smollm", "llama3", "qwen2"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(TokenizerFiles, CarryTheChatTemplate) {
  const TokenizerFiles files = tokenizer_files(small_byte_level_vocabulary("gpt2"), "{{ messages }}").or_throw();
  EXPECT_NE(files.tokenizer_config_json.find("{{ messages }}"), std::string::npos);
}

TEST(TokenizerFiles, RejectSentencePieceByName) {
  const auto files = tokenizer_files(small_sentence_piece_vocabulary(), "");
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(files.error().message.find("\"llama\""), std::string::npos);
}

}  // namespace
}  // namespace millrace::text
