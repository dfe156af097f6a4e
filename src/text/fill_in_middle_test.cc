#include "text/fill_in_middle.h"

#include <gtest/gtest.h>

#include "text/testing/vocabularies.h"

namespace millrace::text {
namespace {

using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> with_tokens(GgufVocabulary v, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    v.tokens.push_back(name);
    v.token_types.push_back(3);
    if (!v.scores.empty()) v.scores.push_back(0);
  }
  return load_gguf_tokenizer(std::move(v)).or_throw();
}

// The prompt for the prefix 1 and the suffix 2, in the vocabulary's ids from the first of `names` on.
Ids prompt_with(const std::vector<std::string>& names) {
  const auto tokenizer = with_tokens(small_byte_level_vocabulary("gpt2"), names);
  const MiddleSpelling* spelling = tokenizer->middle_spelling();
  if (spelling == nullptr) return {};
  return middle_prompt(*spelling, Ids{1}, Ids{2});
}

TEST(FillInMiddle, IsSpelledAsTheVocabularysTokensSay) {
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
                                             {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
                                             {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
                                             {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
                                             {"▁<PRE>", "▁<SUF>", "▁<MID>"}}) {
    EXPECT_EQ(prompt_with(names), (Ids{264, 1, 265, 2, 266})) << names[0];
  }
  EXPECT_EQ(prompt_with({"[SUFFIX]", "[PREFIX]"}), (Ids{264, 2, 265, 1}));
  EXPECT_EQ(prompt_with({"<mask_1>", "<|endoftext|>", "<sep>"}), (Ids{1, 264, 2, 265, 266, 264}));
}

TEST(FillInMiddle, NeedsEveryTokenOfASpelling) {
  EXPECT_EQ(prompt_with({}), Ids{});
  EXPECT_EQ(prompt_with({"<fim_prefix>", "<fim_suffix>"}), Ids{});
  EXPECT_EQ(prompt_with({"<fim_prefix>", "<fim-suffix>", "<fim_middle>"}), Ids{});
  EXPECT_EQ(prompt_with({"<mask_1>", "<sep>"}), Ids{});
}

TEST(FillInMiddle, GoesByTheTokensThatAFileNamesFirst) {
  GgufVocabulary v = small_byte_level_vocabulary("gpt2");
  v.middle_tokens = {.prefix = 5, .suffix = 6, .middle = 7, .ends = {8}};
  const auto tokenizer = with_tokens(v, {"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<|fim_pad|>"});
  ASSERT_NE(tokenizer->middle_spelling(), nullptr);
  EXPECT_EQ(middle_prompt(*tokenizer->middle_spelling(), Ids{1}, Ids{2}), (Ids{5, 1, 6, 2, 7}));
  EXPECT_EQ(tokenizer->middle_spelling()->ends, (Ids{8, 267}));
  v.middle_tokens.middle = 1000;
  EXPECT_FALSE(load_gguf_tokenizer(v));
}

TEST(FillInMiddle, ASuffixHasNoSpaceInFrontThatItsTextHasNot) {
  const auto spaced = load_gguf_tokenizer(small_sentence_piece_vocabulary()).or_throw();
  EXPECT_EQ(spaced->encode("ab", false, false), (Ids{263}));
  EXPECT_EQ(encode_continuation(*spaced, "ab"), (Ids{262}));
  EXPECT_EQ(encode_continuation(*spaced, " ab"), spaced->encode(" ab", false, false));
  EXPECT_EQ(encode_continuation(*spaced, "<s>"), (Ids{3 + '<', 3 + 's', 3 + '>'}));  // no special token
  const auto plain = load_gguf_tokenizer(small_byte_level_vocabulary("gpt2")).or_throw();
  EXPECT_EQ(encode_continuation(*plain, "hello"), (Ids{259}));
  EXPECT_EQ(encode_continuation(*plain, ""), Ids{});
}

}  // namespace
}  // namespace millrace::text
