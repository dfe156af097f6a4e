#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hub/model_lookup.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;

// A cache as the hub's client lays it out: snapshots of links to blobs, refs that name commits.
class ModelLookup : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "model_lookup_test_hub";
    fs::remove_all(root_);
    const fs::path repository = root_ / "models--org--name";
    put(repository / "refs" / "main", "c0ffee\n");
    put(repository / "refs" / "v1.0", "0ddba11");
    put(repository / "blobs" / "e1", "{}");
    fs::create_directories(repository / "snapshots" / "c0ffee");
    fs::create_symlink("../../blobs/e1", repository / "snapshots" / "c0ffee" / "config.json");
    put(repository / "snapshots" / "c0ffee" / "model.safetensors", "x");
    put(repository / "snapshots" / "0ddba11" / "config.json", "{}");
    put(repository / "snapshots" / "0ddba11" / "model.safetensors", "x");
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
    const auto path = resolve_model(reference, root_.string());
    if (!path) return path.error().message;
    return path->starts_with(root_.string()) ? path->substr(root_.string().size() + 1) : *path;
  }

  std::string snapshot(const std::string& name, const std::string& commit) const {
    return (root_ / ("models--" + name) / "snapshots" / commit).string();
  }

  fs::path root_;
};

TEST_F(ModelLookup, FollowsBranchesTagsAndCommits) {
  EXPECT_EQ(resolve("org/name"), "models--org--name/snapshots/c0ffee");
  EXPECT_EQ(resolve("org/name@main"), "models--org--name/snapshots/c0ffee");
  EXPECT_EQ(resolve("org/name@v1.0"), "models--org--name/snapshots/0ddba11");
  EXPECT_EQ(resolve("org/name@0ddba11"), "models--org--name/snapshots/0ddba11");
  EXPECT_NE(resolve("org/name@v2").find("revision 'v2' is not in the cache"), std::string::npos);
}

TEST_F(ModelLookup, ASnapshotOfOneGgufFileIsThatFile) {
  EXPECT_EQ(resolve("org/quantized"), "models--org--quantized/snapshots/abc/m.Q4_K.gguf");
  put(root_ / "models--org--quantized" / "snapshots" / "abc" / "m.Q8_0.gguf", "GGUF");
  EXPECT_NE(resolve(snapshot("org--quantized", "abc")).find("2 .gguf files: name the one you mean"), std::string::npos);
}

TEST_F(ModelLookup, OfSeveralGgufFilesTheNamedOrThePreferredIsTaken) {
  const std::string folder = "models--org--quantized/snapshots/abc/";
  put(root_ / folder / "m.Q8_0.gguf", "GGUF");
  put(root_ / folder / "config.json", "{}");
  put(root_ / folder / "mmproj-f16.gguf", "GGUF");
  EXPECT_EQ(resolve("org/quantized"), folder + "m.Q4_K.gguf");
  EXPECT_EQ(resolve("org/quantized:q8_0"), folder + "m.Q8_0.gguf");
  EXPECT_EQ(resolve("hf://org/quantized:m.Q8_0.gguf@main"), folder + "m.Q8_0.gguf");
  EXPECT_NE(resolve("org/quantized:Q2_K").find("'Q4_K' (4 B), 'Q8_0' (4 B)"), std::string::npos);
}

TEST_F(ModelLookup, ASnapshotWithoutAllShardsIsNotFound) {
  const fs::path folder = root_ / "models--org--name" / "snapshots" / "c0ffee";
  put(folder / "model.safetensors.index.json",
      R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  put(folder / "model-1.safetensors", "x");
  fs::remove(folder / "model.safetensors");
  EXPECT_NE(resolve("org/name").find("'model-2.safetensors' is missing"), std::string::npos);
}

TEST_F(ModelLookup, FilesBehindLinksOutOfTheCacheAreNotThere) {
  const fs::path outside = fs::path(testing::TempDir()) / "model_lookup_test_outside.gguf";
  put(outside, "GGUF");
  fs::create_symlink(outside, root_ / "models--org--quantized" / "snapshots" / "abc" / "m.Q8_0.gguf");
  EXPECT_NE(resolve("org/quantized:Q8_0").find("there is: 'Q4_K'"), std::string::npos);
  fs::remove(outside);
}

TEST_F(ModelLookup, TakesPathsAsTheyAre) {
  const fs::path snapshot = root_ / "models--org--name" / "snapshots" / "c0ffee";
  EXPECT_EQ(resolve(snapshot.string()), "models--org--name/snapshots/c0ffee");
  const fs::path gguf = root_ / "models--org--quantized" / "snapshots" / "abc" / "m.Q4_K.gguf";
  EXPECT_EQ(resolve(gguf.string()), "models--org--quantized/snapshots/abc/m.Q4_K.gguf");
  EXPECT_EQ(resolve("/no/such/model"), "'/no/such/model': No such file or directory");
}

TEST_F(ModelLookup, SaysWhereItLookedWhenNothingIsThere) {
  const std::string message = resolve("org/absent");
  EXPECT_NE(message.find((root_ / "models--org--absent").string()), std::string::npos) << message;
  EXPECT_NE(message.find("millrace pull org/absent"), std::string::npos) << message;
  EXPECT_EQ(resolve_model("org/absent", root_.string()).error().code, ErrorCode::kNotFound);
}

TEST_F(ModelLookup, RefusesNamesThatLeaveTheCache) {
  for (const std::string& bad :
       {std::string("a/../b"), std::string("org/a..b"), std::string("a/b/c"), std::string("org/na me"),
        std::string("org/name\0x", 10), std::string(5000, 'a'), std::string(), std::string("org//name"),
        std::string("org--x/name"), std::string("-x/name"), std::string("org/name@"), std::string("org/name@/abs"),
        std::string("org/name@a//b"), std::string("org/name@../../etc")}) {
    const auto path = resolve_model(bad, root_.string());
    ASSERT_FALSE(path) << bad;
    EXPECT_EQ(path.error().code, ErrorCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(resolve("../x"), "'../x': No such file or directory");
}

TEST_F(ModelLookup, ARefThatPointsElsewhereIsRefused) {
  put(root_ / "models--org--name" / "refs" / "main", "../../models--org--quantized/snapshots/abc");
  EXPECT_NE(resolve("org/name").find("a commit id expected"), std::string::npos);
}

}  // namespace
}  // namespace millrace::hub
