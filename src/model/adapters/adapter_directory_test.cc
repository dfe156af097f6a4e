// Which files a request's name finds inside a directory of adapters.

#include "model/adapters/adapter_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

class AdapterDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("millrace_directory_{}", ::getpid());
    for (const char* file :
         {"dir/adapter_config.json", "dir/adapter_model.safetensors", "gguf.gguf", "group/st.safetensors",
          "both/adapter_config.json", "both.gguf", "two.gguf", "two.safetensors", "empty/notes.txt"}) {
      fs::create_directories((folder_ / file).parent_path());
      std::ofstream(folder_ / file) << "x";
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string found(const std::string& name) const {
    const auto path = AdapterDirectory(folder_).find(name).or_throw();
    return path ? fs::relative(*path, fs::canonical(folder_)).string() : "";
  }

  fs::path folder_;
};

TEST_F(AdapterDirectoryTest, FindsDirectoriesAndSingleFiles) {
  EXPECT_EQ(found("dir"), "dir");
  EXPECT_EQ(found("gguf"), "gguf.gguf");
  EXPECT_EQ(found("gguf.gguf"), "gguf.gguf");
  EXPECT_EQ(found("group/st"), "group/st.safetensors");
  for (const char* name : {"group", "empty", "st", "dir/adapter_model", "group/../gguf"}) {
    EXPECT_EQ(found(name), "") << name;
  }
}

TEST_F(AdapterDirectoryTest, RefusesNamesOfSeveralFiles) {
  for (const auto& [name, other] : {std::pair("both", "both.gguf"), {"two", "two.safetensors"}}) {
    const auto path = AdapterDirectory(folder_).find(name);
    ASSERT_FALSE(path) << name;
    EXPECT_EQ(path.error().param, "lora_name");
    EXPECT_NE(path.error().message.find(other), std::string::npos) << path.error().message;
  }
}

TEST_F(AdapterDirectoryTest, FollowsNoLinkThatLeadsOut) {
  const fs::path outside = folder_.string() + "_outside.gguf";
  std::ofstream(outside) << "x";
  fs::create_symlink(outside, folder_ / "link.gguf");
  fs::create_symlink(folder_ / "gguf.gguf", folder_ / "alias.gguf");
  EXPECT_EQ(found("link"), "");
  EXPECT_EQ(found("alias"), "gguf.gguf");
  fs::remove(outside);
}

}  // namespace
}  // namespace millrace::model
