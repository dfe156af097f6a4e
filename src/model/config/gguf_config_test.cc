#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "checkpoint/testing/tiny_gguf.h"
#include "model/config/shared_config.h"

namespace millrace::model {
namespace {

using checkpoint::GgufArray;
using checkpoint::GgufMetadata;
using checkpoint::TinyGguf;

GgufMetadata metadata_of(const TinyGguf& tiny) {
  GgufMetadata metadata("m.gguf");
  for (const auto& [key, value] : tiny.metadata) metadata.add(key, value);
  return metadata;
}

ModelConfig gguf_config(const GgufMetadata& metadata) {
  const checkpoint::ConfigFile file = checkpoint::read_config_metadata(metadata);
  checkpoint::ConfigView view(file);
  return read_shared_config(view, {});
}

// The message of reading and checking the configuration, or "good".
std::string outcome(const TinyGguf& tiny) {
  try {
    gguf_config(metadata_of(tiny));
    return "good";
  } catch (const LoadError& e) {
    return e.what();
  }
}

TEST(GgufConfig, NamesTheRequiredKeyThatIsMissing) {
  for (const std::string key :
       {"general.architecture", "llama.context_length", "llama.embedding_length", "llama.block_count",
        "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    TinyGguf tiny;
    tiny.remove(key);
    EXPECT_EQ(outcome(tiny), "m.gguf: required key '" + key + "' is missing");
  }
}

TEST(GgufConfig, ChecksRanges) {
  TinyGguf tiny;
  tiny.set("llama.block_count", 1.0f);
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.block_count': expected an integer, found float32");
  tiny = {};
  tiny.set("llama.attention.head_count_kv", std::uint32_t{3});
  EXPECT_EQ(outcome(tiny), "m.gguf: 4 attention heads are not a multiple of 3 key-value heads");
  tiny = {};
  tiny.set("llama.attention.head_count", std::uint32_t{0});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.attention.head_count': expected 1 to 2147483647, found 0");
  tiny = {};
  tiny.set("llama.block_count", std::uint32_t{1u << 31});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.block_count': expected 1 to 4096, found 2147483648");
  tiny = {};
  tiny.set("llama.attention.layer_norm_rms_epsilon", std::nanf(""));
  EXPECT_EQ(outcome(tiny),
            "m.gguf: key 'llama.attention.layer_norm_rms_epsilon': expected a positive number, found nan");
  tiny = {};
  tiny.set("llama.context_length", ~std::uint64_t{0});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.context_length': 18446744073709551615 is out of range");
  tiny = {};
  tiny.set("llama.vocab_size", std::uint32_t{3});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.vocab_size': 3, but the tokenizer has 4 tokens");
}

TEST(GgufConfig, TakesCountsOfEachLayer) {
  TinyGguf tiny;
  tiny.set("llama.block_count", std::uint32_t{2});
  tiny.set("llama.attention.head_count_kv", GgufArray{std::vector<std::int32_t>{2, 2}});
  EXPECT_EQ(gguf_config(metadata_of(tiny)).n_kv_heads, 2);
  EXPECT_TRUE(gguf_config(metadata_of(tiny)).layer_kv_heads.empty());
  tiny.set("llama.attention.head_count_kv", GgufArray{std::vector<std::int32_t>{2, 1}});
  EXPECT_EQ(gguf_config(metadata_of(tiny)).layer_kv_heads, (std::vector<std::int64_t>{2, 1}));
  tiny.set("llama.attention.head_count_kv", GgufArray{std::vector<std::int32_t>{2}});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.attention.head_count_kv': 1 entries for 2 layers");
  tiny.set("llama.attention.head_count_kv", GgufArray{std::vector<std::int32_t>{2, 9}});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.attention.head_count_kv': expected 0 to 4, found 9");
}

// Each is a share of the hidden size, 64 / 4, where the file does not say it, whatever it says of the other.
TEST(GgufConfig, ReadsTheSizesOfKeysAndValuesEachByItself) {
  const auto sizes = [](const TinyGguf& tiny) {
    const ModelConfig config = gguf_config(metadata_of(tiny));
    return std::pair(config.head_dim, config.value_dim);
  };
  TinyGguf tiny;
  const std::int64_t share = 16;
  EXPECT_EQ(sizes(tiny), std::pair(share, share));
  tiny.set("llama.attention.value_length", std::uint32_t{6});
  EXPECT_EQ(sizes(tiny), std::pair(share, std::int64_t{6}));
  tiny.set("llama.attention.key_length", std::uint32_t{10});
  EXPECT_EQ(sizes(tiny), std::pair(std::int64_t{10}, std::int64_t{6}));
  tiny.remove("llama.attention.value_length");
  EXPECT_EQ(sizes(tiny), std::pair(std::int64_t{10}, share));
  tiny.set("llama.attention.value_length", std::uint32_t{0});
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.attention.value_length': expected 1 to 2147483647, found 0");
}

TEST(GgufConfig, ReadsYarnScaling) {
  TinyGguf tiny;
  tiny.set("llama.rope.scaling.type", std::string("yarn"));
  tiny.set("llama.rope.scaling.factor", 4.0f);
  tiny.set("llama.rope.scaling.original_context_length", std::uint32_t{32});
  tiny.set("llama.rope.scaling.yarn_beta_fast", 16.0f);
  tiny.set("llama.rope.scaling.attn_factor", 0.5f);
  const RopeScaling scaling = gguf_config(metadata_of(tiny)).rope.scaling;
  EXPECT_EQ(scaling.kind, RopeScaling::Kind::kYarn);
  EXPECT_EQ(scaling.factor, 4.0);
  EXPECT_EQ(scaling.original_context, 32);
  EXPECT_EQ(scaling.beta_fast, 16.0);
  EXPECT_DOUBLE_EQ(*scaling.attention_factor, 0.5 * (0.1 * std::log(4.0) + 1.0));
  tiny.set("llama.rope.scaling.type", std::string("longer"));
  EXPECT_EQ(outcome(tiny), "m.gguf: key 'llama.rope.scaling.type': rope scaling 'longer' is not supported");
}

TEST(GgufConfig, ReadsUnknownArchitecturesGenerically) {
  TinyGguf tiny;
  for (auto& [key, value] : tiny.metadata) {
    if (key.starts_with("llama.")) key.replace(0, 5, "novel");
  }
  tiny.set("general.architecture", std::string("novel"));
  tiny.set("novel.attention.key_length", std::uint32_t{24});
  tiny.set("novel.rope.dimension_count", std::uint32_t{8});
  tiny.set("novel.attention.sliding_window", std::uint32_t{64});
  const ModelConfig config = gguf_config(metadata_of(tiny));
  EXPECT_EQ(config.architecture, "novel");
  EXPECT_EQ(config.head_dim, 24);
  EXPECT_EQ(config.rope.dim, 8);
  EXPECT_EQ(config.sliding_window, 64);
  EXPECT_EQ(outcome(tiny), "good");
}

}  // namespace
}  // namespace millrace::model
