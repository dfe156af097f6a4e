#include "base/option_spec.h"

#include <gtest/gtest.h>

#include <limits>

namespace millrace {
namespace {

constexpr OptionSpec kShare = {.name = "my_share", .high = 1.0, .above_low = true, .neutral = 0.5, .help = "A share"};
constexpr OptionSpec kOn = {.name = "my_switch", .kind = OptionSpec::Kind::kSwitch, .neutral = 1.0, .help = "A switch"};
constexpr OptionSpec kText = {
    .name = "my_text", .flags = "--text-of-mine,--tom", .kind = OptionSpec::Kind::kText, .help = "A text"};

TEST(OptionSpec, SaysItsFlagsAndItsRange) {
  EXPECT_EQ(kShare.flag_names(), "--my-share");
  EXPECT_EQ(kText.flag_names(), "--text-of-mine,--tom");
  EXPECT_EQ(kText.flag_name(), "text-of-mine");
  EXPECT_EQ(kShare.range(), "above 0 and at most 1");
  EXPECT_FALSE(kShare.in_range(0.0));
  EXPECT_TRUE(kShare.in_range(1.0));
  EXPECT_FALSE(kShare.in_range(std::numeric_limits<double>::quiet_NaN()));
}

TEST(OptionSpec, ValuesThatWereNotGivenAreNeutral) {
  OptionValues values;
  EXPECT_EQ(values.number(kShare), 0.5);
  EXPECT_TRUE(values.on(kOn));
  EXPECT_EQ(values.text(kText), "");
  values.set("my_share", 0.25).set("my_switch", 0.0).set("my_text", "10-20");
  EXPECT_EQ(values.number(kShare), 0.25);
  EXPECT_FALSE(values.on(kOn));
  EXPECT_EQ(values.text(kText), "10-20");
  EXPECT_TRUE(values.has("my_share"));
  EXPECT_FALSE(values.has("another"));
}

TEST(OptionSpec, AValueOutOfRangeIsNamedByItsFlagWithItsLimit) {
  const OptionSpec options[] = {kShare, kOn, kText};
  OptionValues values;
  EXPECT_TRUE(values.check(options));
  const auto wrong = values.set("my_share", 1.5).check(options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().param, "my-share");
  EXPECT_EQ(wrong.error().message, "my-share is 1.5: must be above 0 and at most 1");
}

}  // namespace
}  // namespace millrace
