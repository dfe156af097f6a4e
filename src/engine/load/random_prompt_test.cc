#include "engine/load/random_prompt.h"

#include <gtest/gtest.h>

namespace millrace::engine::load {
namespace {

TEST(RandomPrompt, APromptIsAFunctionOfSeedAndIndex) {
  EXPECT_EQ(random_prompt(50, 1000, 3, 7), random_prompt(50, 1000, 3, 7));
  EXPECT_NE(random_prompt(50, 1000, 3, 7), random_prompt(50, 1000, 3, 8));
  EXPECT_NE(random_prompt(50, 1000, 3, 7), random_prompt(50, 1000, 4, 7));
  for (const std::int32_t token : random_prompt(2000, 3, 0, 0)) {
    EXPECT_GE(token, 0);
    EXPECT_LT(token, 3);
  }
}

}  // namespace
}  // namespace millrace::engine::load
