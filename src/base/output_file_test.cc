#include "base/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace millrace {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  const fs::path directory_ = fs::temp_directory_path() / ("output_file_" + std::to_string(::getpid()));
  const std::string path_ = (directory_ / "file").string();
};

TEST_F(OutputFileTest, ASecondWriterIsRefusedAndDisturbsNothing) {
  auto first = OutputFile::create(path_);
  ASSERT_TRUE(first && first->write(bytes("whole")));
  const auto second = OutputFile::create(path_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another process is writing it"), std::string::npos);
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(fs::file_size(path_), 5u);
  EXPECT_TRUE(OutputFile::create(path_));
}

TEST_F(OutputFileTest, WhatAKilledWriterLeftIsWrittenOver) {
  std::ofstream(path_ + ".tmp") << "much longer than what comes now";
  {
    auto file = OutputFile::create(path_);
    ASSERT_TRUE(file && file->write(bytes("short")) && file->commit());
  }
  EXPECT_EQ(fs::file_size(path_), 5u);
  EXPECT_FALSE(fs::exists(path_ + ".tmp"));
}

}  // namespace
}  // namespace millrace
