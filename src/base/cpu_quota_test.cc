#include "base/cpu_quota.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(CpuQuota, ReadsWhatControlGroupsWrite) {
  EXPECT_EQ(parse_cpu_max("200000 100000"), 2.0);
  EXPECT_EQ(parse_cpu_max("150000 100000"), 1.5);
  EXPECT_EQ(parse_cpu_max("max 100000"), 0.0);
  for (const char* text : {"", "max", "200000", "x 100000", "200000 0", "-1 100000", "200000 100000x", " "}) {
    EXPECT_EQ(parse_cpu_max(text), std::nullopt) << text;
  }
}

TEST(CpuQuota, AtLeastOneThreadIsUsable) { EXPECT_GE(usable_threads(), 1); }

}  // namespace
}  // namespace millrace
