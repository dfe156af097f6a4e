#include "kv/disk_tier.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/log.h"
#include "base/memory_env.h"
#include "kv/disk_segment.h"

namespace millrace::kv {
namespace {

constexpr std::size_t kPageBytes = 200;

PageKey key_of(int page) {
  PageKey key{};
  key[0] = static_cast<std::uint8_t>(page);
  key[31] = static_cast<std::uint8_t>(page + 1);
  return key;
}
std::vector<std::byte> content_of(int page) {
  std::vector<std::byte> content(kPageBytes);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(page * 31 + static_cast<int>(i));
  return content;
}

class DiskTierTest : public testing::Test {
 protected:
  DiskTierTest() { log::set_level(log::Level::kOff); }
  ~DiskTierTest() override { log::set_level(level_); }
  std::unique_ptr<DiskTier> open(Env& in) { return DiskTier::open(in, config).or_throw(); }
  std::unique_ptr<DiskTier> open() { return open(env); }
  static void put(DiskTier& disk, int first, int end) {
    for (int page = first; page < end; ++page) disk.put(key_of(page), content_of(page));
  }
  // The pages of [0, end) that are there; all of them must be right.
  static std::set<int> found(DiskTier& disk, int end) {
    std::set<int> pages;
    for (int page = 0; page < end; ++page) {
      std::vector<std::byte> content(kPageBytes);
      if (!disk.get(key_of(page), content)) continue;
      EXPECT_EQ(content, content_of(page)) << page;
      pages.insert(page);
    }
    return pages;
  }
  std::string segment(int number) const { return fmt::format("kv/segment-{:016x}.pages", number); }

  MemoryEnv env;
  // Segments of four pages.
  DiskTierConfig config{.directory = "kv",
                        .limit_bytes = 1 << 20,
                        .origin = {.model_key = 7, .page_bytes = kPageBytes, .block_tokens = 8},
                        .segment_bytes = kSegmentHeaderBytes + 4 * (kRecordHeaderBytes + kPageBytes)};

 private:
  log::Level level_ = log::level();
};

TEST_F(DiskTierTest, FindsPagesAgainWithAndWithoutItsIndex) {
  put(*open(), 0, 10);
  put(*open(), 10, 12);
  for (const bool index : {true, false}) {
    if (!index) env.files.erase("kv/index");
    const auto disk = open();
    EXPECT_EQ(found(*disk, 20).size(), 12u);
    EXPECT_EQ(disk->use().segments, 4);
    EXPECT_EQ(disk->use().damaged, 0);
  }
}

TEST_F(DiskTierTest, ReadsNoRecordHeadersThatTheIndexKnows) {
  put(*open(), 0, 8);
  env.reads = 0;
  open();
  EXPECT_EQ(env.reads, 3);  // the index and the headers of two segments
}

TEST_F(DiskTierTest, KeepsPagesOfAnotherModelApart) {
  put(*open(), 0, 4);
  config.origin.model_key = 8;
  std::string line;
  log::set_level(log::Level::kInfo);
  log::set_sink([&](log::Level, std::string_view text) { line += text; });
  const auto disk = open();
  log::set_sink({});
  EXPECT_EQ(line, "kv: 1 of 1 segments are of another model or version and are dropped first");
  EXPECT_TRUE(found(*disk, 4).empty());
  put(*disk, 4, 5);
  EXPECT_EQ(disk->use().segments, 2);
}

TEST_F(DiskTierTest, WritesAPageOnce) {
  const auto disk = open();
  put(*disk, 0, 3);
  put(*disk, 0, 3);
  EXPECT_EQ(disk->use().put, 3);
}

TEST_F(DiskTierTest, DropsTheLeastRecentlyUsedSegmentsAtItsLimit) {
  config.limit_bytes = 4 * config.segment_bytes;
  {
    const auto disk = open();
    put(*disk, 0, 12);
    found(*disk, 4);  // the first segment
    put(*disk, 12, 17);
    EXPECT_LE(disk->use().bytes, config.limit_bytes);
    EXPECT_EQ(found(*disk, 17), (std::set<int>{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  }
  const auto disk = open();  // the order of use is known after a restart too
  put(*disk, 17, 21);
  EXPECT_LE(disk->use().bytes, config.limit_bytes);
  std::uint64_t bytes = 0;
  for (const auto& [path, content] : env.files) bytes += path == "kv/index" ? 0 : content.size();
  EXPECT_EQ(bytes, disk->use().bytes);
}

TEST_F(DiskTierTest, StopsWhereOnePageExceedsTheLimit) {
  config.limit_bytes = kPageBytes;
  const auto disk = open();
  put(*disk, 0, 1);
  EXPECT_FALSE(disk->writing());
  EXPECT_TRUE(found(*disk, 1).empty());
}

// Any bit of any file may be wrong.
TEST_F(DiskTierTest, YieldsNoDamagedPage) {
  put(*open(), 0, 6);
  const auto files = env.files;
  std::int64_t lost = 0;
  for (const auto& [path, content] : files) {
    for (std::size_t i = 0; i < content.size(); ++i) {
      env.files = files;
      env.files[path][i] = static_cast<char>(env.files[path][i] ^ (1 << (i % 8)));
      if (path != "kv/index") {
        for (const DiskPage& page : read_record_headers(*env.open(path).or_throw(), kPageBytes)) {
          EXPECT_TRUE(page.key[0] < 6 && page.key == key_of(page.key[0])) << path << " at " << i;
        }
      }
      if (i % 2 == 0) env.files.erase("kv/index");
      const auto pages = found(*open(), 6);
      EXPECT_GE(pages.size(), i < kSegmentHeaderBytes ? 2u : 5u) << path << " at " << i;  // its neighbours are there
      lost += pages.size() < 6;
    }
  }
  EXPECT_LT(6 * static_cast<std::int64_t>(kPageBytes), lost);
}

TEST_F(DiskTierTest, ToleratesFilesOfEveryLength) {
  put(*open(), 0, 6);
  const auto files = env.files;
  for (const auto& [path, content] : files) {
    for (std::size_t length = 0; length < content.size(); ++length) {
      env.files = files;
      env.files[path].resize(length);
      const auto pages = found(*open(), 6);
      EXPECT_GE(pages.size(), path == "kv/index" ? 6u : path == segment(2) ? 4u : 2u) << path << " " << length;
    }
  }
}

// The process is killed, or one write fails, at each write in turn; then the power may be cut as well.
TEST_F(DiskTierTest, SurvivesEndingAtAnyWrite) {
  constexpr int kPages = 13;
  put(*open(), 0, kPages);
  const std::int64_t writes = env.writes;
  ASSERT_LT(30, writes);
  for (const bool killed : {true, false}) {
    for (const std::uint64_t kept : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{1} << 40}) {
      for (std::int64_t n = 0; n < writes; ++n) {
        env = MemoryEnv();
        std::int64_t reported = 0;
        {
          const auto disk = open();
          env.fail_write = n;
          for (int page = 0; page < kPages; ++page) {
            put(*disk, page, page + 1);
            if (killed && env.writes > n) env.dead = true;
          }
          reported = disk->use().put;
          if (killed && env.writes > n) env.dead = true;
          EXPECT_EQ(found(*disk, kPages).size(), static_cast<std::size_t>(reported));  // reading goes on
        }
        env.crash(kept);
        env.dead = false;
        env.fail_write = -1;
        const auto disk = open();
        const auto pages = found(*disk, kPages);
        // Only what was in the segment being written may be lost, and nothing if the machine lived on.
        EXPECT_GE(static_cast<std::int64_t>(pages.size()), kept > 1000 ? reported : reported - 4) << n;
        put(*disk, 0, kPages);
        EXPECT_EQ(found(*disk, kPages).size(), static_cast<std::size_t>(kPages)) << n;
      }
    }
  }
}

TEST_F(DiskTierTest, GoesOnReadingWhenTheDiskIsFull) {
  for (std::uint64_t bytes = 0; bytes < 3 * config.segment_bytes; bytes += 97) {
    env = MemoryEnv();
    env.disk_bytes = bytes;
    std::set<int> before;
    {
      const auto disk = open();
      put(*disk, 0, 13);
      EXPECT_FALSE(disk->writing());
      before = found(*disk, 13);
    }
    EXPECT_EQ(found(*open(), 13), before);
  }
}

TEST_F(DiskTierTest, RemovesAWrongPageForGood) {
  {
    const auto disk = open();
    put(*disk, 0, 6);
    disk->remove(key_of(1));
    EXPECT_FALSE(disk->contains(key_of(1)));
    disk->remove(key_of(5));  // in the segment being written
    EXPECT_TRUE(found(*disk, 6).empty());
    put(*disk, 6, 8);
  }
  EXPECT_EQ(found(*open(), 8), (std::set<int>{6, 7}));
}

TEST_F(DiskTierTest, ForgetsAllPagesOfItsModel) {
  put(*open(), 0, 3);
  config.origin.model_key = 8;
  {
    const auto disk = open();
    put(*disk, 0, 6);
    disk->clear();
    EXPECT_TRUE(found(*disk, 6).empty());
    put(*disk, 6, 8);
    EXPECT_EQ(found(*disk, 8), (std::set<int>{6, 7}));
  }
  EXPECT_EQ(found(*open(), 8), (std::set<int>{6, 7}));
  config.origin.model_key = 7;
  EXPECT_EQ(found(*open(), 3).size(), 3u) << "another model's";
}

class DiskTierFiles : public DiskTierTest {
 protected:
  DiskTierFiles() {
    config.directory = (std::filesystem::temp_directory_path() / fmt::format("millrace_kv_{}", ::getpid())).string();
    std::filesystem::remove_all(config.directory);
  }
  ~DiskTierFiles() override { std::filesystem::remove_all(config.directory); }
};

TEST_F(DiskTierFiles, LetsOneOfTwoWrite) {
  const auto first = open(Env::system());
  put(*first, 0, 4);
  {
    const auto second = open(Env::system());
    EXPECT_TRUE(first->writing());
    EXPECT_FALSE(second->writing());
    put(*second, 4, 8);
    EXPECT_EQ(found(*second, 8).size(), 4u);  // reads what was there
  }
  put(*first, 4, 8);
  EXPECT_EQ(found(*first, 8).size(), 8u);
}

TEST_F(DiskTierFiles, WritesInTheBackground) {
  config.background = true;
  {
    const auto disk = open(Env::system());
    put(*disk, 0, 50);
    disk->remove(key_of(49));
  }
  const auto pages = found(*open(Env::system()), 50);
  EXPECT_LE(40u, pages.size());
  EXPECT_FALSE(pages.contains(49));
}

TEST_F(DiskTierFiles, ForgetsPagesThatAreOnTheirWay) {
  config.background = true;
  {
    const auto disk = open(Env::system());
    put(*disk, 0, 50);
    disk->clear();
    put(*disk, 50, 52);
  }
  EXPECT_EQ(found(*open(Env::system()), 52), (std::set<int>{50, 51}));
}

TEST_F(DiskTierFiles, DropsWhatTheQueueCannotHold) {
  config.background = true;
  config.queue_bytes = kPageBytes - 1;
  const auto disk = open(Env::system());
  put(*disk, 0, 5);
  EXPECT_EQ(disk->use().dropped, 5);
  EXPECT_TRUE(found(*disk, 5).empty());
}

TEST(DiskTier, FailsToOpenOnlyWithoutADirectory) {
  const auto disk = DiskTier::open(Env::system(), {.directory = "/proc/nothing", .origin = {.page_bytes = 1}});
  ASSERT_FALSE(disk);
  EXPECT_NE(disk.error().message.find("/proc/nothing"), std::string::npos);
}

TEST(PageKey, DependsOnEveryFieldAndItsLength) {
  const PageOrigin origin{1, 2, 3};
  const std::vector<std::int32_t> tokens{1, 2, 3};
  const PageKey parent = key_of(1);
  std::set<PageKey> keys;
  for (const PageOrigin& other : {origin, PageOrigin{2, 2, 3}, PageOrigin{1, 3, 3}, PageOrigin{1, 2, 4}}) {
    keys.insert(PageKeyMaker(other).make({}, nullptr, tokens));
  }
  PageKeyMaker maker(origin);
  keys.insert(maker.make({.adapter = "1"}, nullptr, tokens));
  keys.insert(maker.make({.salt = "a"}, nullptr, tokens));
  keys.insert(maker.make({.rope_length = 1}, nullptr, tokens));
  keys.insert(maker.make({.rope_length = 2}, nullptr, tokens));
  keys.insert(maker.make({.activated = "1"}, nullptr, tokens));
  keys.insert(maker.make({.activated = "2"}, nullptr, tokens));
  keys.insert(maker.make({.activated = std::string("\1\0\0\0\0\0\0\0", 8)}, nullptr, tokens));
  keys.insert(maker.make({}, &parent, tokens));
  keys.insert(maker.make({}, nullptr, std::span(tokens).first(2)));
  keys.insert(maker.make({.salt = std::string(reinterpret_cast<const char*>(parent.data()), 32)}, nullptr, tokens));
  EXPECT_EQ(keys.size(), 14u);
  EXPECT_EQ(maker.make({}, nullptr, tokens), PageKeyMaker(origin).make({}, nullptr, tokens));
}

}  // namespace
}  // namespace millrace::kv
