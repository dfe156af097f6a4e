#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {
namespace {

namespace fs = std::filesystem;

// A cache as the hub's client lays it out: snapshots of links to blobs, refs that name commits.
class ModelReference : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "model_reference_test_hub";
    fs::remove_all(root_);
    const fs::path repository = root_ / "models--org--name";
    put(repository / "refs" / "main", "c0ffee\n");
    put(repository / "refs" / "v1.0", "0ddba11");
    put(repository / "blobs" / "e1", "{}");
    fs::create_directories(repository / "snapshots" / "c0ffee");
    fs::create_symlink("../../blobs/e1", repository / "snapshots" / "c0ffee" / "config.json");
    put(repository / "snapshots" / "0ddba11" / "config.json", "{}");
    put(root_ / "models--org--quantized" / "refs" / "main", "abc");
    put(root_ / "models--org--quantized" / "blobs" / "e2", "GGUF");
    fs::create_directories(root_ / "models--org--quantized" / "snapshots" / "abc");
    fs::create_symlink("../../blobs/e2", root_ / "models--org--quantized" / "snapshots" / "abc" / "m.Q4_K.gguf");
  }
  void TearDown() override { fs::remove_all(root_); }

  static void put(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // The path found below the cache, or the message.
  std::string resolve(const std::string& reference) const {
    const auto path = resolve_model(reference, {root_.string()});
    if (!path) return path.error().message;
    return path->starts_with(root_.string()) ? path->substr(root_.string().size() + 1) : *path;
  }

  fs::path root_;
};

TEST_F(ModelReference, FollowsBranchesTagsAndCommits) {
  EXPECT_EQ(resolve("org/name"), "models--org--name/snapshots/c0ffee");
  EXPECT_EQ(resolve("org/name@main"), "models--org--name/snapshots/c0ffee");
  EXPECT_EQ(resolve("org/name@v1.0"), "models--org--name/snapshots/0ddba11");
  EXPECT_EQ(resolve("org/name@0ddba11"), "models--org--name/snapshots/0ddba11");
  EXPECT_NE(resolve("org/name@v2").find("revision 'v2' is not in the cache"), std::string::npos);
}

TEST_F(ModelReference, ASnapshotOfOneGgufFileIsThatFile) {
  EXPECT_EQ(resolve("org/quantized"), "models--org--quantized/snapshots/abc/m.Q4_K.gguf");
  put(root_ / "models--org--quantized" / "snapshots" / "abc" / "m.Q8_0.gguf", "GGUF");
  EXPECT_NE(resolve("org/quantized").find("2 .gguf files: name the one you mean"), std::string::npos);
}

TEST_F(ModelReference, TakesPathsAsTheyAre) {
  const fs::path snapshot = root_ / "models--org--name" / "snapshots" / "c0ffee";
  EXPECT_EQ(resolve(snapshot.string()), "models--org--name/snapshots/c0ffee");
  const fs::path gguf = root_ / "models--org--quantized" / "snapshots" / "abc" / "m.Q4_K.gguf";
  EXPECT_EQ(resolve(gguf.string()), "models--org--quantized/snapshots/abc/m.Q4_K.gguf");
  EXPECT_EQ(resolve("/no/such/model"), "'/no/such/model': No such file or directory");
}

TEST_F(ModelReference, SaysWhereItLookedWhenNothingIsThere) {
  const std::string message = resolve("org/absent");
  EXPECT_NE(message.find((root_ / "models--org--absent").string()), std::string::npos) << message;
  EXPECT_NE(message.find("hf download org/absent"), std::string::npos) << message;
  EXPECT_EQ(resolve_model("org/absent", {root_.string()}).error().code, ErrorCode::kNotFound);
}

TEST_F(ModelReference, RefusesNamesThatLeaveTheCache) {
  for (const std::string& bad :
       {std::string("a/../b"), std::string("org/a..b"), std::string("a/b/c"), std::string("org/na me"),
        std::string("org/name\0x", 10), std::string(5000, 'a'), std::string(), std::string("org//name"),
        std::string("org--x/name"), std::string("-x/name"), std::string("org/name@"), std::string("org/name@/abs"),
        std::string("org/name@a//b"), std::string("org/name@../../etc")}) {
    const auto path = resolve_model(bad, {root_.string()});
    ASSERT_FALSE(path) << bad;
    EXPECT_EQ(path.error().code, ErrorCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(resolve("../x"), "'../x': No such file or directory");
}

TEST_F(ModelReference, ARefThatPointsElsewhereIsRefused) {
  put(root_ / "models--org--name" / "refs" / "main", "../../models--org--quantized/snapshots/abc");
  EXPECT_NE(resolve("org/name").find("a commit id expected"), std::string::npos);
}

TEST(CacheRoots, FollowTheOrderOfTheHubClient) {
  EXPECT_EQ(cache_roots([](const char*) -> const char* { return nullptr; }).huggingface, "");
  EXPECT_EQ(cache_roots([](const char* n) -> const char* {
              return std::strcmp(n, "HOME") == 0 ? "/h" : nullptr;
            }).huggingface,
            "/h/.cache/huggingface/hub");
  EXPECT_EQ(cache_roots([](const char* n) -> const char* {
              return std::strcmp(n, "HOME") == 0 ? "/h" : std::strcmp(n, "XDG_CACHE_HOME") == 0 ? "/x" : nullptr;
            }).huggingface,
            "/x/huggingface/hub");
  EXPECT_EQ(cache_roots([](const char* n) -> const char* {
              return std::strcmp(n, "HF_HOME") == 0 ? "/f" : std::strcmp(n, "XDG_CACHE_HOME") == 0 ? "/x" : nullptr;
            }).huggingface,
            "/f/hub");
  EXPECT_EQ(cache_roots([](const char*) -> const char* { return "/all"; }).huggingface, "/all");
}

}  // namespace
}  // namespace millrace::checkpoint
