#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/tiny_directory.h"
#include "checkpoint/testing/tiny_gguf.h"

namespace millrace::checkpoint {
namespace {

TinyGguf without_tokenizer() {
  TinyGguf tiny;
  std::erase_if(tiny.metadata, [](const GgufEntry& entry) { return entry.first.starts_with("tokenizer.ggml."); });
  tiny.set("llama.vocab_size", std::uint32_t{4});
  return tiny;
}

TEST(OpenCheckpoint, KnowsGgufByNameAndByContent) {
  MemoryEnv env;
  env.files["m.gguf"] = env.files["blobs/abc"] = without_tokenizer().bytes();
  for (const char* path : {"m.gguf", "blobs/abc"}) {
    const auto checkpoint = open_checkpoint(env, path);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ((*checkpoint)->container, Checkpoint::Container::kGguf);
    EXPECT_EQ((*checkpoint)->tokenizer, nullptr);
  }
}

TEST(OpenCheckpoint, OpensADirectory) {
  MemoryEnv env = tiny_directory();
  const auto checkpoint = open_checkpoint(env, "d");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->container, Checkpoint::Container::kSafetensors);
}

TEST(OpenCheckpoint, TakesATokenizerModelWhereThereIsNoTokenizerJson) {
  MemoryEnv env = tiny_directory();
  // Two pieces: <unk>, of type 2, and "a".
  env.files["d/tokenizer.model"] = std::string("\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x03\x0a\x01") + "a";
  const auto checkpoint = open_checkpoint(env, "d");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  ASSERT_NE((*checkpoint)->tokenizer, nullptr);
  EXPECT_EQ((*checkpoint)->tokenizer->kind(), "SentencePiece Unigram");
  env.files["d/tokenizer.json"] = "{";
  EXPECT_EQ(open_checkpoint(env, "d").error().message.find("d: tokenizer: tokenizer.json"), 0u);
}

// generation_config.json lists them for models that end answers in several ways. It may name ids that are not there.
TEST(OpenCheckpoint, EndsAnswersWithTheTokensThatTheModelLists) {
  MemoryEnv env = tiny_directory();
  env.files["d/tokenizer.json"] =
      R"({"added_tokens": [{"id": 1, "content": "<|user|>", "special": true}, {"id": 2, "content": "<|end|>", "special": true}],
          "model": {"type": "WordLevel", "vocab": {"a": 0, "<|user|>": 1, "<|end|>": 2}, "unk_token": "a"}})";
  const auto ends = [&] {
    const auto checkpoint = open_checkpoint(env, "d").or_throw();
    const auto found = checkpoint->tokenizer->end_of_generation();
    return std::vector<std::int32_t>(found.begin(), found.end());
  };
  EXPECT_EQ(ends(), std::vector<std::int32_t>{2});
  env.files["d/generation_config.json"] = R"({"eos_token_id": [2, 1, 77]})";
  EXPECT_EQ(ends(), (std::vector<std::int32_t>{2, 1}));
}

TEST(OpenCheckpoint, SaysThatNothingIsThere) {
  MemoryEnv env;
  EXPECT_EQ(open_checkpoint(env, "absent.gguf").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(open_checkpoint(env, "absent").error().message, "absent/config.json: No such file or directory");
}

TEST(OpenCheckpoint, ABadTokenizerNamesTheFile) {
  MemoryEnv env;
  TinyGguf tiny;
  tiny.set("tokenizer.ggml.model", std::string("no such tokenizer"));
  env.files["m.gguf"] = tiny.bytes();
  const auto checkpoint = open_checkpoint(env, "m.gguf");
  ASSERT_FALSE(checkpoint);
  EXPECT_EQ(checkpoint.error().message.find("m.gguf: tokenizer: "), 0u) << checkpoint.error().message;
}

}  // namespace
}  // namespace millrace::checkpoint
