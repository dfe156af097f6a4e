#include "backend/cpu/kept_rows.h"

#include <gtest/gtest.h>

namespace millrace::backend::cpu {
namespace {

constexpr char kOrder = 0, kOther = 1;  // two addresses

class KeptRowsTest : public testing::Test {
 protected:
  // Whether the rows had to be put in order for this call.
  bool arranged(std::uint64_t contents, std::int64_t first, const char& order = kOrder) {
    Activations x;
    x.k = kGroup;
    x.rows = x.stored_rows = 1024;
    x.groups = groups_;
    x.contents = contents;
    bool called = false;
    const std::byte* memory = kept_.get(x, first, 16, order, 64, [&](std::byte* out) {
      called = true;
      *out = static_cast<std::byte>(++times_);
    });
    last_ = std::to_integer<int>(*memory);
    return called;
  }
  Int8Group groups_[1] = {};  // only its address is used
  KeptRows kept_;
  int times_ = 0, last_ = 0;
};

TEST_F(KeptRowsTest, RowsAreKeptAsLongAsTheirContentsHaveTheNumber) {
  EXPECT_TRUE(arranged(7, 0));
  EXPECT_FALSE(arranged(7, 0));
  EXPECT_EQ(last_, 1);
  EXPECT_TRUE(arranged(8, 0));
  EXPECT_TRUE(arranged(7, 0));  // what was in the memory then is gone
}

TEST_F(KeptRowsTest, ContentsWithoutANumberAreNeverKept) {
  EXPECT_TRUE(arranged(0, 0));
  EXPECT_TRUE(arranged(0, 0));
}

TEST_F(KeptRowsTest, BlocksAndOrdersAreKeptBesideEachOther) {
  EXPECT_TRUE(arranged(7, 0));
  EXPECT_TRUE(arranged(7, 64));
  EXPECT_TRUE(arranged(7, 0, kOther));
  EXPECT_FALSE(arranged(7, 64));
  EXPECT_EQ(last_, 2);
  EXPECT_FALSE(arranged(7, 0));
  EXPECT_EQ(last_, 1);
  EXPECT_FALSE(arranged(7, 0, kOther));
  EXPECT_EQ(last_, 3);
}

TEST_F(KeptRowsTest, MoreBlocksTakeEachOthersPlace) {
  for (std::int64_t block = 0; block <= KeptRows::kBlocks; ++block) EXPECT_TRUE(arranged(7, 64 * block));
  EXPECT_FALSE(arranged(7, 64));
  EXPECT_TRUE(arranged(7, 0));  // the last one took the place of the first
}

}  // namespace
}  // namespace millrace::backend::cpu
