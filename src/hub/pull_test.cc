#include "hub/pull.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "hub/content_hash.h"
#include "hub/testing/fake_hub.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'c');
const std::string kListing = "https://hub.example/api/models/org/name/revision/main?blobs=true";
const std::string kFile = "https://hub.example/org/name/resolve/" + kCommit + "/";

std::string hash_of(const std::string& content, RepositoryFile::Digest digest) {
  ContentHash hash(digest, content.size());
  hash.update(std::as_bytes(std::span(content)));
  return hash.finish();
}

// A file system that is full after so many bytes.
class FullDisk final : public PartialFile {
 public:
  FullDisk(std::unique_ptr<PartialFile> inner, std::uint64_t room) : inner_(std::move(inner)), room_(room) {}
  std::uint64_t size() const override { return inner_->size(); }
  Result<void> append(std::span<const std::byte> bytes) override {
    const auto fits = std::min<std::uint64_t>(bytes.size(), room_ - std::min(room_, size()));
    if (auto written = inner_->append(bytes.first(static_cast<std::size_t>(fits))); !written) return written;
    if (fits == bytes.size()) return {};
    return make_error(ErrorCode::kResourceExhausted, "disk", "No space left on device");
  }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override { return inner_->read(offset, out); }
  Result<void> truncate() override { return inner_->truncate(); }
  Result<void> commit(const std::string& path) override { return inner_->commit(path); }
  void remove() override { inner_->remove(); }

 private:
  std::unique_ptr<PartialFile> inner_;
  std::uint64_t room_;
};

class PullTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    std::string siblings;
    for (const auto& [name, content] : files_) {
      siblings +=
          (siblings.empty() ? "" : ", ") +
          fmt::format(R"({{"rfilename": "{}", "size": {}, "blobId": "{}", "lfs": {{"sha256": "{}", "size": {}}}}})",
                      name, content.size(), std::string(40, 'a'), hash_of(content, RepositoryFile::Digest::kSha256),
                      content.size());
      client_.serve(kFile + name, content);
    }
    listing_ = fmt::format(R"({{"sha": "{}", "siblings": [{}]}})", kCommit, siblings);
    client_.serve(kListing, listing_);
  }
  void TearDown() override { fs::remove_all(root_); }

  Result<PullResult> pull(const std::string& reference = "org/name", std::uint64_t room = 1 << 30) {
    const HubSettings settings{.endpoint = "https://hub.example", .cache_root = root_.string()};
    const PullWorld world{.client = client_,
                          .pause = pause_,
                          .observer = observer_,
                          .open_partial = [room](const std::string& path) -> Result<std::unique_ptr<PartialFile>> {
                            auto file = open_partial_file(path);
                            if (!file) return file.error();
                            return std::unique_ptr<PartialFile>(std::make_unique<FullDisk>(*std::move(file), room));
                          },
                          .free_bytes = free_bytes_};
    return hub::pull(settings, {.reference = parse_reference(reference).or_throw()}, world);
  }
  std::string message(const std::string& reference = "org/name") {
    const auto result = pull(reference);
    return result ? "" : result.error().message;
  }
  static std::string content_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path blob(const std::string& name) const {
    return root_ / "models--org--name" / "blobs" / hash_of(files_.at(name), RepositoryFile::Digest::kSha256);
  }
  fs::path part(const std::string& name) const { return blob(name).string() + ".incomplete"; }

  const fs::path root_ = fs::path(testing::TempDir()) / "pull_test_hub";
  const std::map<std::string, std::string> files_ = {{"m-Q4_0.gguf", std::string(100'000, 'q')},
                                                     {"m-Q8_0.gguf", std::string(50'000, 'e')}};
  std::string listing_;
  FakeClient client_;
  FakePause pause_;
  FakeObserver observer_;
  Result<std::uint64_t> (*free_bytes_)(const std::string&) = free_bytes;
};

TEST_F(PullTest, BringsTheFileIntoTheCache) {
  const auto result = pull();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->path, (root_ / "models--org--name" / "snapshots" / kCommit / "m-Q4_0.gguf").string());
  EXPECT_EQ(content_of(result->path), files_.at("m-Q4_0.gguf"));
  EXPECT_EQ(content_of(root_ / "models--org--name" / "refs" / "main"), kCommit);
  EXPECT_EQ(observer_.total, 100'000U);
  EXPECT_EQ(observer_.done, 100'000);
}

TEST_F(PullTest, ACutAtEveryTenthCostsNothingTwice) {
  for (int i = 0; i < 9; ++i) {
    client_.before[kFile + "m-Q4_0.gguf"].push_back(
        {.status = i == 0 ? 200 : 206,
         .body = std::string(100'000 - static_cast<std::size_t>(i) * 10'000, 'q'),
         .headers = {},
         .cut_at = 10'000});
    if (i > 0) {
      client_.before[kFile + "m-Q4_0.gguf"].back().headers = {
          {"content-range", fmt::format("bytes {}-99999/100000", i * 10'000)}};
    }
  }
  const auto result = pull();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(observer_.done, 100'000);
  EXPECT_EQ(*client_.requests.back().headers.find("range"), "bytes=90000-");
}

// config.json, an index and four shards, fetched by four workers.
class ShardedPullTest : public PullTest {
 protected:
  void SetUp() override {
    std::string map;
    for (int i = 0; i < 4; ++i) {
      const std::string name = fmt::format("model-{}.safetensors", i);
      shards_[name] = std::string(50'000, static_cast<char>('0' + i % 3));  // two of them have the same content
      map += fmt::format(R"({}"tensor{}": "{}")", i == 0 ? "" : ", ", i, name);
    }
    shards_["config.json"] = "{}";
    shards_["model.safetensors.index.json"] = fmt::format(R"({{"weight_map": {{{}}}}})", map);
    std::string siblings;
    for (const auto& [name, content] : shards_) {
      siblings += fmt::format(R"({}{{"rfilename": "{}", "size": {}, "blobId": "{}"}})", siblings.empty() ? "" : ", ",
                              name, content.size(), hash_of(content, RepositoryFile::Digest::kGitSha1));
      client_.serve(kFile + name, content);
    }
    client_.serve(kListing, fmt::format(R"({{"sha": "{}", "siblings": [{}]}})", kCommit, siblings));
  }
  std::map<std::string, std::string> shards_;
};

TEST_F(ShardedPullTest, SeveralFilesAtATimeMakeOneModel) {
  const auto result = pull();
  ASSERT_TRUE(result) << result.error().message;
  for (const auto& [name, content] : shards_) EXPECT_EQ(content_of(fs::path(result->path) / name), content);
  EXPECT_EQ(observer_.done, static_cast<std::int64_t>(observer_.total));
  EXPECT_EQ(client_.requests.size(), 1U + shards_.size() - 1);  // equal contents are fetched once
}

TEST_F(ShardedPullTest, TheFirstFailureIsTheOneTold) {
  client_.routes[kFile + "model-2.safetensors"] = [](const http::HttpRequest&) { return FakeAnswer{.status = 404}; };
  EXPECT_NE(message().find("no file 'model-2.safetensors'"), std::string::npos);
  EXPECT_FALSE(fs::exists(root_ / "models--org--name" / "snapshots"));
  EXPECT_TRUE(fs::is_empty(root_ / "models--org--name" / "refs"));
  client_.serve(kFile + "model-2.safetensors", shards_.at("model-2.safetensors"));
  ASSERT_TRUE(pull());
}

TEST_F(PullTest, AServerThatTricklesIsGivenUp) {
  for (std::size_t at = 0; at < 5000; at += 50) {
    client_.before[kFile + "m-Q4_0.gguf"].push_back(
        {.status = at == 0 ? 200 : 206,
         .body = std::string(100'000 - at, 'q'),
         .headers = {{"content-range", fmt::format("bytes {}-99999/100000", at)}},
         .cut_at = 50});
  }
  EXPECT_NE(message().find("given up with 250 of 100000 bytes"), std::string::npos);
  EXPECT_EQ(client_.requests.size(), 1U + 5U);
}

TEST_F(PullTest, AFullDiskSaysWhatIsMissingAndKeepsThePart) {
  const auto result = pull("org/name", 30'000);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(result.error().message.find("70.0 kB more needed"), std::string::npos) << result.error().message;
  EXPECT_EQ(fs::file_size(part("m-Q4_0.gguf")), 30'000U);
  EXPECT_EQ(client_.requests.size(), 2U);  // not tried again
  ASSERT_TRUE(pull());
  EXPECT_EQ(*client_.requests.back().headers.find("range"), "bytes=30000-");
}

TEST_F(PullTest, RoomIsCheckedBeforeAnythingIsFetched) {
  free_bytes_ = [](const std::string&) -> Result<std::uint64_t> { return std::uint64_t{99'999}; };
  EXPECT_NE(message().find("100 kB needed"), std::string::npos);
  EXPECT_EQ(client_.requests.size(), 1U);
  ASSERT_TRUE(pull("org/name:Q8_0"));
}

TEST_F(PullTest, WrongContentIsRemoved) {
  client_.serve(kFile + "m-Q4_0.gguf", std::string(100'000, 'x'));
  const auto result = pull();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kBadFile);
  EXPECT_NE(result.error().message.find("checksum"), std::string::npos);
  EXPECT_FALSE(fs::exists(part("m-Q4_0.gguf")));
  EXPECT_FALSE(fs::exists(blob("m-Q4_0.gguf")));
}

TEST_F(PullTest, ARangeThatIsNotTheOneAskedForStartsAgain) {
  client_.before[kFile + "m-Q4_0.gguf"] = {
      {.body = std::string(100'000, 'q'), .cut_at = 40'000},
      {.status = 206, .body = std::string(10, 'q'), .headers = {{"content-range", "bytes 7-16/100000"}}}};
  ASSERT_TRUE(pull());
  EXPECT_EQ(client_.requests.back().headers.find("range"), nullptr);
  EXPECT_EQ(observer_.done, 100'000);
}

TEST_F(PullTest, MoreThanTheFileIsNeverWritten) {
  client_.before[kFile + "m-Q4_0.gguf"] = {{.body = std::string(100'001, 'q')}};
  EXPECT_NE(message().find("the server sends more"), std::string::npos);
}

TEST_F(PullTest, AnInterruptionIsToldAsOne) {
  observer_.cancel = true;
  client_.before[kListing] = {{.unreachable = true}};
  const auto result = pull();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

TEST_F(PullTest, AListingIsCheckedLikeAnyFile) {
  const std::string sibling = R"({"rfilename": "a.gguf", "size": 1})";
  for (const std::string& bad :
       {std::string("[]"), std::string("{}"), std::string("{"), std::string(100'000, '['),
        std::string(R"({"sha": "main", "siblings": []})"), fmt::format(R"({{"sha": "{}"}})", kCommit),
        fmt::format(R"({{"sha": "{}", "siblings": [1]}})", kCommit),
        fmt::format(R"({{"sha": "{}", "siblings": [{}, {}]}})", kCommit, sibling, sibling),
        fmt::format(R"({{"sha": "{}", "siblings": [{{"rfilename": "../a.gguf"}}]}})", kCommit),
        fmt::format(R"({{"sha": "{}", "siblings": [{{"rfilename": "a.gguf", "size": -1}}]}})", kCommit),
        fmt::format(R"({{"sha": "{}", "siblings": [{{"rfilename": "a.gguf", "size": 1e30}}]}})", kCommit)}) {
    client_.serve(kListing, bad);
    const auto result = pull();
    ASSERT_FALSE(result) << bad.substr(0, 100);
    EXPECT_EQ(result.error().code, ErrorCode::kBadFile) << bad.substr(0, 100);
  }
}

TEST(ContentHash, IsWhatGitAndShaSay) {
  EXPECT_EQ(hash_of("", RepositoryFile::Digest::kGitSha1), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(hash_of("abc", RepositoryFile::Digest::kSha256),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abc", RepositoryFile::Digest::kNone), "");
}

}  // namespace
}  // namespace millrace::hub
