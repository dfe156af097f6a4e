#include "metrics/token_range.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>

namespace millrace::metrics {
namespace {

TEST(TokenRange, ReadsANumberOrTwo) {
  EXPECT_EQ(*parse_token_range("t", "128"), (TokenRange{128, 128}));
  EXPECT_EQ(*parse_token_range("t", "64-256"), (TokenRange{64, 256}));
  EXPECT_EQ(*parse_token_range("t", "1-16777216"), (TokenRange{1, kMaxTokens}));
}

TEST(TokenRange, RefusesWhatIsNoRangeNamingTheFlag) {
  for (const char* text :
       {"", "-", "0", "-5", "5-", "-5-6", "9-3", "1-2-3", "12x", " 3", "1-16777217", "99999999999999999999", "1e3"}) {
    const auto range = parse_token_range("input-tokens", text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_EQ(range.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(range.error().message.find("input-tokens"), std::string::npos);
  }
}

TEST(Workload, ALongTailStaysWithinItsRangeAndDoublesAreAlike) {
  const TokenRange range = *parse_token_range("output-tokens", "8-511:long");
  std::array<int, 6> octaves{};
  for (std::uint64_t i = 0; i < 6000; ++i) {
    const std::int64_t n = sample(range, 3, i, 0);
    ASSERT_GE(n, 8);
    ASSERT_LE(n, 511);
    ++octaves[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 4];
  }
  for (const int count : octaves) EXPECT_NEAR(count, 1000, 120);
}

TEST(Workload, DrawsEveryNumberOfTheRangeAndNoOther) {
  std::set<std::int64_t> seen;
  for (std::uint64_t i = 0; i < 500; ++i) seen.insert(sample({5, 9}, 1, i, 0));
  EXPECT_EQ(seen, (std::set<std::int64_t>{5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace millrace::metrics
