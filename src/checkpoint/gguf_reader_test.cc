#include "checkpoint/gguf_reader.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/memory_env.h"
#include "checkpoint/gguf_model.h"
#include "checkpoint/testing/tiny_gguf.h"

namespace millrace::checkpoint {
namespace {

// The message of opening `bytes` as m.gguf, or "opened".
std::string outcome(const std::string& bytes) {
  MemoryEnv env;
  env.files["m.gguf"] = bytes;
  text::GgufVocabulary vocabulary;
  const auto checkpoint = read_gguf(env, "m.gguf", &vocabulary);
  return checkpoint ? "opened" : checkpoint.error().message;
}

// Layout of the fixed part: magic 4, version 4, tensor count 8, metadata count 8. Behind a tensor's name: rank 4,
// dimensions 8 each, type 4, offset 8. Behind a key: type 4, value.
constexpr std::size_t kVersionAt = 4, kTensorCountAt = 8, kEntryCountAt = 16;
constexpr std::size_t kRank = 0, kFirstDim = 4, kTypeOf2d = 20, kOffsetOf2d = 24;

TEST(GgufReader, OpensAGoodFile) {
  MemoryEnv env;
  env.files["m.gguf"] = TinyGguf().bytes();
  text::GgufVocabulary vocabulary;
  const auto checkpoint = read_gguf(env, "m.gguf", &vocabulary);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->config.architecture, "llama");
  EXPECT_EQ((*checkpoint)->config.tokens, 4);
  EXPECT_EQ((*checkpoint)->config.metadata.integer("llama.attention.head_count_kv"), 2);
  EXPECT_EQ((*checkpoint)->chat_templates.default_source(), "{{ messages }}");
  EXPECT_EQ((*checkpoint)->generation.eos_token_ids, std::vector<std::int32_t>{1});
  EXPECT_EQ(vocabulary.tokens, (std::vector<std::string>{"<s>", "</s>", "a", "b"}));
  EXPECT_EQ(vocabulary.scores.size(), 4u);
  EXPECT_EQ(vocabulary.bos, 0);
  const RawTensor* tensor = (*checkpoint)->find("blk.0.attn_q.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (Shape{64, 64}));
  EXPECT_EQ(tensor->bytes, 64u * 64 / 32 * 18);
  EXPECT_EQ(tensor->offset % 32, 0u);
}

TEST(GgufReader, RefusesBadMagicAndVersions) {
  std::string file = TinyGguf().bytes();
  EXPECT_EQ(outcome("GGML" + file.substr(4)), "m.gguf: not a GGUF file: the first bytes are 'GGML', expected 'GGUF'");
  patch(file, kVersionAt, std::uint32_t{1});
  EXPECT_EQ(outcome(file), "m.gguf: GGUF version 2 or 3 expected, found 1");
  patch(file, kVersionAt, std::uint32_t{0x03000000});
  EXPECT_EQ(outcome(file), "m.gguf: big-endian GGUF is not supported");
  patch(file, kVersionAt, std::uint32_t{2});
  EXPECT_EQ(outcome(file), "opened");
  EXPECT_EQ(outcome(""), "m.gguf: magic: 4 items of 1 bytes or more expected, 0 bytes left");
}

TEST(GgufReader, RefusesCountsThatTheFileCannotHold) {
  for (const std::uint64_t lie : {~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    std::string file = TinyGguf().bytes();
    patch(file, kEntryCountAt, lie);
    EXPECT_EQ(outcome(file).find("m.gguf: metadata count: " + std::to_string(lie) + " items"), 0u) << outcome(file);
    file = TinyGguf().bytes();
    patch(file, kTensorCountAt, lie);
    EXPECT_EQ(outcome(file).find("m.gguf: tensor count: " + std::to_string(lie) + " items"), 0u) << outcome(file);
  }
  std::string file = TinyGguf().bytes();
  patch(file, kEntryCountAt, std::uint64_t{17});  // one more than there are: a tensor is taken for an entry
  EXPECT_NE(outcome(file), "opened");
  patch(file, kEntryCountAt, std::uint64_t{15});
  EXPECT_NE(outcome(file), "opened");
}

TEST(GgufReader, RefusesStringsAndArraysPastTheEnd) {
  std::string file = TinyGguf().bytes();
  patch(file, position_behind(file, "general.name") + 4, std::uint64_t{1} << 63);
  EXPECT_EQ(outcome(file).find("m.gguf: key 'general.name': 9223372036854775808 items"), 0u) << outcome(file);
  file = TinyGguf().bytes();
  patch(file, position_behind(file, "tokenizer.ggml.tokens") + 8, std::uint64_t{1} << 60);
  EXPECT_EQ(outcome(file).find("m.gguf: key 'tokenizer.ggml.tokens': 1152921504606846976 items"), 0u) << outcome(file);
}

TEST(GgufReader, RefusesUnknownValueTypesAndBools) {
  std::string file = TinyGguf().bytes();
  patch(file, position_behind(file, "general.name"), std::uint32_t{13});
  EXPECT_EQ(outcome(file), "m.gguf: key 'general.name': type 0 to 12 expected, found 13");
  TinyGguf tiny;
  tiny.set("tokenizer.ggml.add_bos_token", true);
  file = tiny.bytes();
  EXPECT_EQ(outcome(file), "opened");
  patch(file, position_behind(file, "tokenizer.ggml.add_bos_token") + 4, std::uint8_t{2});
  EXPECT_EQ(outcome(file), "m.gguf: key 'tokenizer.ggml.add_bos_token': a bool must be 0 or 1, found 2");
}

TEST(GgufReader, BoundsTheNestingOfArrays) {
  GgufArray nested{std::vector<std::uint8_t>{1}};
  for (int depth = 1; depth < kGgufMaxArrayDepth; ++depth) nested = GgufArray{std::vector<GgufArray>{nested}};
  TinyGguf tiny;
  tiny.set("x.nested", nested);
  EXPECT_EQ(outcome(tiny.bytes()), "opened");
  tiny.set("x.nested", GgufArray{std::vector<GgufArray>{nested}});
  EXPECT_EQ(outcome(tiny.bytes()), "m.gguf: key 'x.nested': arrays nested deeper than 4");
}

TEST(GgufReader, RefusesBadAlignments) {
  TinyGguf tiny;
  tiny.set("general.alignment", std::uint32_t{32});
  const std::string good = tiny.bytes();
  EXPECT_EQ(outcome(good), "opened");
  for (const std::uint32_t alignment : {0u, 1u, 13u, 48u, 1u << 31}) {
    std::string file = good;
    patch(file, position_behind(file, "general.alignment") + 4, alignment);
    EXPECT_EQ(outcome(file), "m.gguf: key 'general.alignment': expected a power of two from 8 to 1048576, found " +
                                 std::to_string(alignment));
  }
  tiny.set("general.alignment", std::string("32"));
  EXPECT_EQ(outcome(tiny.bytes()), "m.gguf: key 'general.alignment': expected uint32, found string");
}

TEST(GgufReader, RefusesKeysOfTheWrongType) {
  TinyGguf tiny;
  tiny.set("tokenizer.ggml.scores", GgufArray{std::vector<std::int8_t>{0, 0, 1, 2}});
  EXPECT_EQ(outcome(tiny.bytes()),
            "m.gguf: key 'tokenizer.ggml.scores': expected array of float32, found array of int8");
  tiny = {};
  tiny.set("tokenizer.ggml.tokens", GgufArray{std::vector<std::uint32_t>{1, 2}});
  EXPECT_EQ(outcome(tiny.bytes()),
            "m.gguf: key 'tokenizer.ggml.tokens': expected array of string, found array of uint32");
  tiny = {};
  tiny.set("general.architecture", 1.0f);
  EXPECT_EQ(outcome(tiny.bytes()), "m.gguf: key 'general.architecture': expected string, found float32");
}

TEST(GgufReader, RefusesDuplicates) {
  TinyGguf tiny;
  tiny.metadata.push_back(tiny.metadata.front());
  EXPECT_EQ(outcome(tiny.bytes()), "m.gguf: key 'general.architecture' occurs twice");
  tiny = {};
  tiny.tensors.push_back(tiny.tensors.front());
  EXPECT_EQ(outcome(tiny.bytes()), "m.gguf: tensor 'token_embd.weight': the name occurs twice");
}

TEST(GgufReader, RefusesBadShapes) {
  const std::string good = TinyGguf().bytes();
  const std::size_t at = position_behind(good, "token_embd.weight");
  std::string file = good;
  patch(file, at + kRank, std::uint32_t{5});
  EXPECT_EQ(outcome(file), "m.gguf: tensor 'token_embd.weight': rank 1 to 4 expected, found 5");
  file = good;
  patch(file, at + kFirstDim, std::uint64_t{0});
  EXPECT_EQ(outcome(file), "m.gguf: tensor 'token_embd.weight': dimension 0 is 0, expected 1 to 2^63 - 1");
  file = good;
  patch(file, at + kFirstDim, std::uint64_t{1} << 62);
  EXPECT_EQ(outcome(file), "m.gguf: tensor 'token_embd.weight': the product of its dimensions overflows");
  file = good;
  patch(file, at + kFirstDim, std::uint64_t{1} << 60);  // 2^62 values fit, their 34/32 bytes do, but the file is small
  EXPECT_NE(outcome(file).find("do not lie inside the file"), std::string::npos) << outcome(file);
  file = good;
  patch(file, at + kFirstDim, std::uint64_t{65});
  EXPECT_EQ(
      outcome(file),
      "m.gguf: tensor 'token_embd.weight': rows of 65 values are not a multiple of the 32 values in a block of q8_0");
}

TEST(GgufReader, RefusesUnknownWeightTypesByNumber) {
  std::string file = TinyGguf().bytes();
  patch(file, position_behind(file, "token_embd.weight") + kTypeOf2d, std::uint32_t{4});
  EXPECT_EQ(outcome(file), "m.gguf: tensor 'token_embd.weight': weight type number 4 is not supported");
  patch(file, position_behind(file, "token_embd.weight") + kTypeOf2d, std::uint32_t{133});
  EXPECT_EQ(
      outcome(file),
      "m.gguf: tensor 'token_embd.weight': weight type number 133 is not supported: it is ik_llama.cpp's own; files "
      "of llama.cpp's types are read");
}

TEST(GgufReader, RefusesBadPlacement) {
  const std::string good = TinyGguf().bytes();
  const std::size_t at = position_behind(good, "blk.0.attn_q.weight") + kOffsetOf2d;
  std::string file = good;
  patch(file, at, std::uint64_t{289});
  EXPECT_EQ(outcome(file), "m.gguf: tensor 'blk.0.attn_q.weight': offset 289 is not a multiple of the alignment 32");
  for (const std::uint64_t offset : {std::uint64_t{1} << 20, ~std::uint64_t{0} - 31}) {
    file = good;
    patch(file, at, offset);
    EXPECT_NE(outcome(file).find("tensor 'blk.0.attn_q.weight': 2304 bytes at offset " + std::to_string(offset)),
              std::string::npos)
        << outcome(file);
  }
  file = good;
  patch(file, at, std::uint64_t{256});
  EXPECT_EQ(outcome(file),
            "m.gguf: tensor 'blk.0.attn_q.weight': its data overlap those of tensor 'token_embd.weight'");
}

TEST(GgufReader, RefusesEveryTruncation) {
  const std::string good = TinyGguf().bytes();
  const std::size_t last_byte = good.size();  // the last tensor's data end there: 256 bytes, no padding
  for (std::size_t size = 0; size < last_byte; ++size) ASSERT_NE(outcome(good.substr(0, size)), "opened") << size;
}

TEST(GgufReader, AFailingReadIsACleanError) {
  MemoryEnv env;
  env.files["m.gguf"] = TinyGguf().bytes();
  text::GgufVocabulary vocabulary;
  ASSERT_TRUE(read_gguf(env, "m.gguf", &vocabulary));
  const std::int64_t reads = env.reads;
  ASSERT_GT(reads, 0);
  for (std::int64_t n = 0; n < reads; ++n) {
    env.reads = 0;
    env.fail_read = n;
    const auto checkpoint = read_gguf(env, "m.gguf", &vocabulary);
    ASSERT_FALSE(checkpoint);
    EXPECT_NE(checkpoint.error().message.find("m.gguf: read at"), std::string::npos);
  }
}

TEST(GgufReader, EscapesHostileNamesInMessages) {
  TinyGguf tiny;
  tiny.tensors[0].name = "a\nb\x1b[31m" + std::string(100, 'z');
  std::string file = tiny.bytes();
  patch(file, position_behind(file, tiny.tensors[0].name) + kTypeOf2d, std::uint32_t{90});
  const std::string message = outcome(file);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_NE(message.find("'a\\x0ab\\x1b[31m"), std::string::npos);
  EXPECT_LT(message.size(), 200u);
}

}  // namespace
}  // namespace millrace::checkpoint
