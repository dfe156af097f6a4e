#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/checked.h"
#include "base/env.h"
#include "base/result.h"

namespace millrace {
namespace {

TEST(Checked, OverflowIsNothing) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(checked_mul<std::uint64_t>(1u << 31, 4), std::uint64_t{1} << 33);
  EXPECT_FALSE(checked_mul<std::uint64_t>(kMax, 2));
  EXPECT_FALSE(checked_add<std::uint64_t>(kMax, 1));
  EXPECT_FALSE(checked_align_up<std::uint64_t>(kMax - 2, 32));
  EXPECT_EQ(checked_align_up<std::uint64_t>(33, 32), 64u);
  EXPECT_FALSE((checked_cast<std::int32_t>(std::int64_t{1} << 31)));
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 7;
  EXPECT_EQ(*good, 7);
  const Result<int> bad = make_error(ErrorCode::kInvalidArgument, "n", "n is {}, the limit is {}", 9, 8);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "n is 9, the limit is 8");
  EXPECT_EQ(exit_code(bad.error().code), 2);
}

TEST(Env, ReadingPastTheEndIsAnErrorThatNamesTheFile) {
  auto file = Env::system().open("/proc/self/exe");
  ASSERT_TRUE(file);
  std::byte buffer[16];
  const auto read = (*file)->read((*file)->size() - 8, buffer);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("truncated"), std::string::npos);
  EXPECT_EQ(Env::system().open("/nonexistent/file").error().code, ErrorCode::kNotFound);
}

TEST(CheckDeathTest, PrintsBothValues) { EXPECT_DEATH(CHECK_EQ(1 + 1, 3), "2 vs 3"); }

}  // namespace
}  // namespace millrace
