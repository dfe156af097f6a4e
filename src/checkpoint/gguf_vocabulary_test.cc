#include "checkpoint/gguf_vocabulary.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/testing/tiny_gguf.h"

namespace millrace::checkpoint {
namespace {

// The message of reading the vocabulary, or "good".
std::string outcome(const TinyGguf& tiny) {
  GgufMetadata metadata("m.gguf");
  for (const auto& [key, value] : tiny.metadata) metadata.add(key, value);
  try {
    gguf_vocabulary(metadata);
    return "good";
  } catch (const LoadError& e) {
    return e.what();
  }
}

TEST(GgufVocabulary, RefusesListsAndIdsThatDoNotFitTheTokens) {
  TinyGguf tiny;
  tiny.set("tokenizer.ggml.scores", GgufArray{std::vector<float>{1, 2, 3}});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'tokenizer.ggml.scores': 3 elements for 4 tokens");
  tiny = {};
  tiny.set("tokenizer.ggml.eos_token_id", std::uint32_t{4});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'tokenizer.ggml.eos_token_id': token 4 of 4 does not exist");
  tiny.set("tokenizer.ggml.eos_token_id", std::uint32_t{0xffffffff});
  EXPECT_EQ(outcome(tiny), "good");
}

TEST(GgufVocabulary, KnowsTheTokensAroundAMissingMiddleByNewKeysAndByOld) {
  TinyGguf tiny;
  tiny.set("tokenizer.ggml.prefix_token_id", std::uint32_t{0});
  tiny.set("tokenizer.ggml.fim_suf_token_id", std::uint32_t{1});
  tiny.set("tokenizer.ggml.suffix_token_id", std::uint32_t{3});
  tiny.set("tokenizer.ggml.fim_mid_token_id", std::uint32_t{2});
  tiny.set("tokenizer.ggml.fim_rep_token_id", std::uint32_t{3});
  GgufMetadata metadata("m.gguf");
  for (const auto& [key, value] : tiny.metadata) metadata.add(key, value);
  const text::MiddleTokens read = gguf_vocabulary(metadata).middle_tokens;
  EXPECT_EQ(read.prefix, 0);
  EXPECT_EQ(read.suffix, 1);
  EXPECT_EQ(read.middle, 2);
  EXPECT_EQ(read.ends, std::vector<text::TokenId>{3});
  tiny.set("tokenizer.ggml.fim_pad_token_id", std::uint32_t{4});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'tokenizer.ggml.fim_pad_token_id': token 4 of 4 does not exist");
}

}  // namespace
}  // namespace millrace::checkpoint
