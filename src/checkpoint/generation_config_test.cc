#include "checkpoint/generation_config.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace millrace::checkpoint {
namespace {

TEST(GenerationConfig, ChecksItsFields) {
  EXPECT_EQ(parse_generation_config("g", R"({"eos_token_id": 5})").eos_token_ids, std::vector<std::int32_t>{5});
  EXPECT_THROW(parse_generation_config("g", R"({"eos_token_id": "x"})"), LoadError);
  EXPECT_THROW(parse_generation_config("g", R"({"temperature": -1})"), LoadError);
  EXPECT_THROW(parse_generation_config("g", R"({"top_k": 1.5})"), LoadError);
}

TEST(GenerationConfig, NumbersThatAreNoIdEndNothing) {
  using Ids = std::vector<std::int32_t>;
  const auto ids = [](const std::string& eos) {
    return parse_generation_config("g", "{\"eos_token_id\":" + eos + "}").eos_token_ids;
  };
  EXPECT_EQ(ids("-1"), Ids());
  EXPECT_EQ(ids("2.0"), Ids{2});
  EXPECT_EQ(ids("[2, -1, 3.0, 0]"), (Ids{2, 3, 0}));
  EXPECT_EQ(ids("[NaN, 1e400, 4294967295, 7]"), Ids{7});
}

TEST(GenerationConfig, SettingsThatAreNoNumberAreLeftOut) {
  const auto config = parse_generation_config(
      "g", R"({"temperature": {"__float__": "Infinity"}, "top_p": NaN, "min_p": -Infinity, "top_k": 50.0})");
  EXPECT_FALSE(config.temperature || config.top_p || config.min_p);
  EXPECT_EQ(config.top_k, 50);
  EXPECT_EQ(parse_generation_config("g", R"({"top_k": NaN})").top_k, std::nullopt);
}

}  // namespace
}  // namespace millrace::checkpoint
