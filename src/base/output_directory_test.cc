#include "base/output_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace millrace {
namespace {

namespace fs = std::filesystem;

class OutputDirectoryTest : public testing::Test {
 protected:
  OutputDirectoryTest() { fs::create_directories(parent_); }
  ~OutputDirectoryTest() override { fs::remove_all(parent_); }
  fs::path parent_ = fs::temp_directory_path() / fmt::format("output_directory_test.{}", ::getpid());
  std::string path_ = parent_ / "out";
};

TEST_F(OutputDirectoryTest, AppearsWhenComplete) {
  auto made = OutputDirectory::create(path_ + "/");
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->write("a.txt", "text"));
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(made->commit());
  EXPECT_EQ(fs::file_size(path_ + "/a.txt"), 4u);
  EXPECT_FALSE(fs::exists(path_ + ".tmp"));
}

TEST_F(OutputDirectoryTest, LeavesNothingWithoutCommit) {
  {
    auto made = OutputDirectory::create(path_);
    ASSERT_TRUE(made->write("a.txt", "text"));
    const OutputDirectory moved = *std::move(made);
    EXPECT_TRUE(fs::exists(moved.file("a.txt")));
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OutputDirectoryTest, ReplacesNothing) {
  fs::create_directory(path_);
  const auto there = OutputDirectory::create(path_);
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().param, "out");
  fs::remove(path_);
  const auto first = OutputDirectory::create(path_);
  EXPECT_TRUE(first);
  EXPECT_FALSE(OutputDirectory::create(path_)) << "another one is being written";
}

}  // namespace
}  // namespace millrace
