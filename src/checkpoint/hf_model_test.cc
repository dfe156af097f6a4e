#include "checkpoint/hf_model.h"

#include <gtest/gtest.h>

#include "checkpoint/testing/tiny_directory.h"
#include "checkpoint/testing/tiny_torch_file.h"

namespace millrace::checkpoint {
namespace {

MemoryEnv sharded_directory() {
  MemoryEnv env;
  env.files["d/config.json"] = kTinyConfig;
  env.files["d/1.safetensors"] = tiny_safetensors({"a"});
  env.files["d/2.safetensors"] = tiny_safetensors({"b", "c"});
  env.files["d/model.safetensors.index.json"] =
      R"({"metadata": {}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors"}})";
  return env;
}

std::string outcome(MemoryEnv& env) {
  TokenizerFiles tokenizer;
  const auto checkpoint = read_huggingface(env, "d", &tokenizer);
  return checkpoint ? "opened" : checkpoint.error().message;
}

TEST(HuggingFace, OpensADirectory) {
  MemoryEnv env = tiny_directory();
  env.files["d/tokenizer.json"] = "{}";
  env.files["d/generation_config.json"] =
      R"({"eos_token_id": [1, 2], "temperature": 0.6, "top_k": 50, "do_sample": true})";
  TokenizerFiles tokenizer;
  const auto checkpoint = read_huggingface(env, "d", &tokenizer);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->tensors.size(), 2u);
  EXPECT_EQ((*checkpoint)->name, "d");
  EXPECT_EQ((*checkpoint)->generation.eos_token_ids, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ((*checkpoint)->generation.temperature, 0.6);
  EXPECT_EQ((*checkpoint)->generation.top_k, 50);
  EXPECT_FALSE((*checkpoint)->generation.top_p);
  EXPECT_EQ(tokenizer.tokenizer_json, "{}");
}

TEST(HuggingFace, TakesTheEndTokenFromConfigWhenNothingElseNamesOne) {
  MemoryEnv env = tiny_directory();
  TokenizerFiles tokenizer;
  const auto checkpoint = read_huggingface(env, "d", &tokenizer);
  EXPECT_EQ((*checkpoint)->generation.eos_token_ids, std::vector<std::int32_t>{7});
}

TEST(HuggingFace, FindsTheChatTemplateInEachOfItsPlaces) {
  MemoryEnv env = tiny_directory();
  const auto templates = [&] {
    TokenizerFiles tokenizer;
    return (*read_huggingface(env, "d", &tokenizer))->chat_templates;
  };
  const auto chat_template = [&] { return std::string(templates().default_source()); };
  EXPECT_EQ(chat_template(), "");
  env.files["d/tokenizer_config.json"] = R"({"chat_template": "one"})";
  EXPECT_EQ(chat_template(), "one");
  env.files["d/tokenizer_config.json"] =
      R"({"chat_template": [{"name": "rag", "template": "no"}, {"name": "default", "template": "two"}]})";
  EXPECT_EQ(chat_template(), "two");
  EXPECT_EQ(templates().sources.at("rag"), "no");
  env.files["d/chat_template.json"] = R"({"chat_template": "three"})";
  EXPECT_EQ(chat_template(), "three");
  env.files["d/chat_template.jinja"] = "four";
  EXPECT_EQ(chat_template(), "four");
  EXPECT_EQ(templates().sources.size(), 1u);
  env.files["d/additional_chat_templates/tool_use.jinja"] = "five";
  env.files["d/additional_chat_templates/readme.md"] = "six";
  EXPECT_EQ(templates().sources, (decltype(chat::ChatTemplateSet::sources){{"default", "four"}, {"tool_use", "five"}}));
}

TEST(HuggingFace, OpensShards) {
  MemoryEnv env = sharded_directory();
  TokenizerFiles tokenizer;
  const auto checkpoint = read_huggingface(env, "d", &tokenizer);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->files.size(), 2u);
  const RawTensor* tensor = (*checkpoint)->find("c");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ((*checkpoint)->files[static_cast<std::size_t>(tensor->file)]->path(), "d/2.safetensors");
  std::array<std::byte, 8> bytes;
  EXPECT_TRUE((*checkpoint)->read(*tensor, 0, bytes));
}

TEST(HuggingFace, RefusesABrokenIndex) {
  MemoryEnv env = sharded_directory();
  env.files.erase("d/2.safetensors");
  EXPECT_EQ(outcome(env),
            "d/model.safetensors.index.json: shard '2.safetensors' cannot be opened: d/2.safetensors: No such file or "
            "directory");
  env = sharded_directory();
  env.files["d/2.safetensors"] = tiny_safetensors({"b"});
  EXPECT_EQ(outcome(env), "d/model.safetensors.index.json: tensor 'c' is not in '2.safetensors'");
  env.files["d/2.safetensors"] = tiny_safetensors({"b", "c", "a"});
  EXPECT_EQ(outcome(env), "d/2.safetensors: tensor 'a': stored in another shard too");
  for (const std::string shard : {"../1.safetensors", "/etc/passwd", "..", "", "x\\\\y", "a\\u0000b"}) {
    env.files["d/model.safetensors.index.json"] = R"({"weight_map": {"a": ")" + shard + R"("}})";
    EXPECT_NE(outcome(env).find("tensor 'a': a file name in the same directory expected"), std::string::npos)
        << outcome(env);
  }
  env.files["d/model.safetensors.index.json"] = R"({"weight_map": []})";
  EXPECT_EQ(
      outcome(env),
      "d/model.safetensors.index.json: weight_map: expected an object of tensor names and file names, found array");
}

TEST(HuggingFace, RefusesCode) {
  MemoryEnv env = tiny_directory();
  env.files.erase("d/model.safetensors");
  env.files["d/pytorch_model.bin"] = TinyTorchFile{.pickle =
                                                       "\x80\x02"
                                                       "cos\nsystem\n."}
                                         .bytes();
  EXPECT_EQ(outcome(env),
            "d/pytorch_model.bin: it names 'os.system': refused, as reading it would run code; convert the file to "
            "safetensors");
  env.files["d/pytorch_model.bin"] = TinyTorchFile().bytes();
  EXPECT_EQ(outcome(env), "opened");
  env.files.clear();
  EXPECT_EQ(outcome(env), "d/config.json: No such file or directory");
}

TEST(HuggingFace, AFailingReadIsACleanError) {
  MemoryEnv env = sharded_directory();
  env.files["d/tokenizer.json"] = "{}";
  env.files["d/tokenizer_config.json"] = "{}";
  env.files["d/generation_config.json"] = "{}";
  ASSERT_EQ(outcome(env), "opened");
  const std::int64_t reads = env.reads;
  ASSERT_GT(reads, 6);
  for (std::int64_t n = 0; n < reads; ++n) {
    env.reads = 0;
    env.fail_read = n;
    EXPECT_NE(outcome(env).find("I/O error"), std::string::npos) << n;
  }
}

}  // namespace
}  // namespace millrace::checkpoint
