#include "runtime/model_config.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace millrace::runtime {
namespace {

// What is said of a configuration with one change: "field | message".
template <typename Change>
std::string complaint(Change change) {
  ModelConfig config;
  change(config);
  const auto valid = config.validate();
  if (valid) return "";
  EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
  return valid.error().param + " | " + valid.error().message;
}

TEST(ModelConfig, DefaultsAreValid) { EXPECT_TRUE(ModelConfig().validate().ok()); }

TEST(ModelConfig, NamesTheFieldTheValueAndTheLimit) {
  EXPECT_EQ(complaint([](ModelConfig& c) { c.threads = -1; }), "threads | threads is -1, must be 0 (all) to 1024");
  EXPECT_EQ(complaint([](ModelConfig& c) { c.threads = kMaxThreads + 1; }),
            "threads | threads is 1025, must be 0 (all) to 1024");
  EXPECT_EQ(complaint([](ModelConfig& c) { c.kv_cache_dtype = "f8"; }),
            "kv-cache-dtype | kv-cache-dtype is 'f8': expected one of " +
                fmt::format("{}", fmt::join(kv_cache_dtypes(), ", ")));
  EXPECT_EQ(complaint([](ModelConfig& c) { c.matmul_precision = "f64"; }),
            "matmul-precision | matmul-precision is 'f64': expected one of auto, int8x2, bf16, f32");
  EXPECT_EQ(complaint([](ModelConfig& c) { c.iq_panels = "small"; }),
            "iq-panels | iq-panels is 'small': expected one of auto, compact, fast");
  EXPECT_EQ(complaint([](ModelConfig& c) { c.max_model_len = -1; }),
            "max-model-len | max-model-len is -1: must be between 0 and 16777216");
  EXPECT_EQ(complaint([](ModelConfig& c) { c.block_size = 1025; }),
            "block-size | block-size is 1025: must be between 0 and 1024");
  EXPECT_EQ(complaint([](ModelConfig& c) { c.block_size = 33; }),
            "block-size | block-size is 33: pages of kv-layout paged32 have a multiple of 32 tokens, 1024 at most");
  EXPECT_TRUE(complaint([](ModelConfig& c) { c.device = "abacus"; }).starts_with("device | device is 'abacus': "));
  EXPECT_TRUE(complaint([](ModelConfig& c) { c.kv_layout = "x"; }).starts_with("kv-layout | kv-layout is 'x': "));
  EXPECT_TRUE(complaint([](ModelConfig& c) { c.cpu_isa = "mmx"; }).starts_with("cpu-isa | unknown instruction set"));
}

TEST(ModelConfig, ReadsExceptionsOfLayers) {
  ModelConfig config{.kv_cache_dtype = "fp8", .kv_exceptions = "0-1:bfloat16,5:int8"};
  ASSERT_TRUE(config.validate().ok());
  const backend::KvFormat pages = config.kv_pages();
  EXPECT_EQ(pages.encoding, "fp8_e4m3");
  ASSERT_EQ(pages.exceptions->size(), 2u);
  EXPECT_EQ((*pages.exceptions)[0].last, 1);
  EXPECT_EQ((*pages.exceptions)[0].encoding, "bf16");
  EXPECT_EQ((*pages.exceptions)[1].first, 5);
  EXPECT_EQ((*pages.exceptions)[1].last, 5);
  for (const char* wrong : {"3", "x:bf16", "2-1:bf16", "-1:bf16", "1:", "1:bf16,,2:int8", "1:f8"}) {
    const std::string said = complaint([&](ModelConfig& c) { c.kv_exceptions = wrong; });
    EXPECT_TRUE(said.starts_with("kv-exceptions | kv-exceptions has '")) << wrong << ": " << said;
  }
}

TEST(ModelConfig, EveryNameThatIsListedIsValid) {
  for (const std::string& name : kv_cache_dtypes()) {
    EXPECT_EQ(complaint([&](ModelConfig& c) { c.kv_cache_dtype = name; }), "");
  }
  for (const std::string& name : kv_layouts()) EXPECT_EQ(complaint([&](ModelConfig& c) { c.kv_layout = name; }), "");
  for (const std::string& name : matmul_precisions()) {
    EXPECT_EQ(complaint([&](ModelConfig& c) { c.matmul_precision = name; }), "");
  }
}

}  // namespace
}  // namespace millrace::runtime
