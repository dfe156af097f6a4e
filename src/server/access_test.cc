#include "server/access.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

class AdapterRights : public testing::Test {
 protected:
  Caller caller(std::vector<std::string_view> shown) const {
    ApiError rejection;
    return access_.caller(shown, "127.0.0.1", TimePoint{}, rejection).or_throw();
  }

  Access access_ = Access::load(
                       "key-of-a-000 adapters=a\nkey-of-ab-00 scopes=infer,admin adapters=a,b\n"
                       "key-of-none- adapters=\nkey-of-all-0\n",
                       {}, 1)
                       .or_throw();
};

TEST_F(AdapterRights, AreThoseOfTheKeysLine) {
  EXPECT_TRUE(caller({"key-of-a-000"}).may_use("a"));
  EXPECT_FALSE(caller({"key-of-a-000"}).may_use("b"));
  EXPECT_FALSE(caller({"key-of-a-000"}).may_use("ab"));
  EXPECT_TRUE(caller({"key-of-ab-00"}).may_use("b"));
  EXPECT_FALSE(caller({"key-of-none-"}).may_use("a"));
  EXPECT_TRUE(caller({"key-of-all-0"}).may_use("anything"));
  EXPECT_TRUE(access_.owner().may_use("anything"));
}

TEST_F(AdapterRights, OfSeveralKeysAreWhatEachOfThemOpens) {
  EXPECT_TRUE(caller({"key-of-ab-00", "key-of-a-000"}).may_use("a"));
  EXPECT_FALSE(caller({"key-of-ab-00", "key-of-a-000"}).may_use("b"));
  EXPECT_FALSE(caller({"key-of-all-0", "key-of-a-000"}).may_use("b"));
  EXPECT_TRUE(caller({"key-of-ab-00", "key-of-all-0"}).may_use("b"));
  EXPECT_FALSE(caller({"key-of-none-", "key-of-all-0"}).may_use("a"));
}

TEST_F(AdapterRights, ChangeWithTheFile) {
  ASSERT_TRUE(access_.reload("key-of-a-000 adapters=b\n"));
  EXPECT_FALSE(caller({"key-of-a-000"}).may_use("a"));
  EXPECT_TRUE(caller({"key-of-a-000"}).may_use("b"));
  EXPECT_FALSE(access_.reload("key-of-a-000 adapters\n")) << "without a list";
}

}  // namespace
}  // namespace millrace::server
