#include "backend/cpu/packed_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "backend/cpu/part_checksums.h"
#include "base/log.h"

namespace millrace::backend::cpu {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> random_bytes(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

class PackedCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("packed_cache_" + std::to_string(::getpid()));
    fs::remove_all(directory_);
    log::set_level(log::Level::kOff);
  }
  void TearDown() override {
    fs::remove_all(directory_);
    log::set_level(log::Level::kWarn);
  }

  PackedCacheConfig config(std::uint64_t key, std::uint64_t limit = std::uint64_t{1} << 30) const {
    return {.directory = directory_.string(), .model_key = key, .limit_bytes = limit};
  }
  void add(PackedCache& cache, const char* name, const char* layout, std::vector<std::byte> bytes) {
    cache.add(name, layout, bytes, part_checksums(bytes, team_));
  }
  void keep(const PackedCacheConfig& config) {
    PackedCache cache(config, Env::system());
    add(cache, "first", "q4_0 1", first_);
    add(cache, "second", "q8_0 1", second_);
    cache.finish();
  }
  bool finds(const PackedCacheConfig& config) {
    PackedCache cache(config, Env::system());
    std::vector<std::byte> first(first_.size()), second(second_.size());
    const auto of_second = cache.read("second", "q8_0 1", second, team_);
    const auto of_first = of_second ? cache.read("first", "q4_0 1", first, team_) : std::nullopt;
    const bool found = of_first && of_second;
    EXPECT_TRUE(!found || (first == first_ && second == second_));
    EXPECT_TRUE(!found || (of_first == part_checksums(first, team_) && of_second == part_checksums(second, team_)));
    return found;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    if (!fs::exists(directory_)) return out;
    for (const auto& entry : fs::directory_iterator(directory_)) out.push_back(entry.path());
    return out;
  }

  fs::path directory_;
  WorkerTeam team_{2};
  const std::vector<std::byte> first_ = random_bytes((3u << 20) + 17, 1), second_ = random_bytes(1000, 2);
};

TEST_F(PackedCacheTest, GivesBackWhatAnEarlierStartKept) {
  EXPECT_FALSE(finds(config(7)));
  keep(config(7));
  EXPECT_TRUE(finds(config(7)));
  EXPECT_FALSE(finds(config(8)));
  ASSERT_EQ(files().size(), 1u);
}

TEST_F(PackedCacheTest, LeavesNothingWhenALoadIsBrokenOff) {
  {
    PackedCache cache(config(7), Env::system());
    add(cache, "first", "q4_0 1", first_);
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(PackedCacheTest, PassesOverAFileWithOneWrongByteWhereverItIs) {
  keep(config(7));
  const fs::path path = files().at(0);
  const auto size = fs::file_size(path);
  const auto weights_end = 64 + first_.size() + 64 + second_.size();
  for (const std::uint64_t at : {std::uint64_t{64}, std::uint64_t{64} + (2u << 20), std::uint64_t{weights_end - 60},
                                 size - 100, size - 32, size - 1}) {
    keep(config(7));
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char old = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(old ^ 4));
    file.close();
    EXPECT_FALSE(finds(config(7))) << "byte " << at << " of " << size;
  }
}

TEST_F(PackedCacheTest, PassesOverAFileCutAnywhere) {
  keep(config(7));
  const fs::path path = files().at(0);
  const auto size = fs::file_size(path);
  for (const std::uint64_t left : {std::uint64_t{0}, std::uint64_t{63}, size / 2, size - 33, size - 1}) {
    keep(config(7));
    fs::resize_file(path, left);
    EXPECT_FALSE(finds(config(7))) << left;
  }
}

TEST_F(PackedCacheTest, AnotherLayoutOrSizeIsNotFoundAndTheFileGoes) {
  keep(config(7));
  PackedCache cache(config(7), Env::system());
  std::vector<std::byte> out(first_.size());
  EXPECT_FALSE(cache.read("first", "q4_0 2", out, team_));
  EXPECT_TRUE(files().empty());
  keep(config(7));
  PackedCache again(config(7), Env::system());
  EXPECT_FALSE(again.read("first", "q4_0 1", std::span(out).first(100), team_));
}

TEST_F(PackedCacheTest, TheLeastRecentlyUsedGoWhenTheLimitIsReached) {
  const std::uint64_t limit = 7u << 20;  // two models of 3 MB, not three
  keep(config(1, limit));
  keep(config(2, limit));
  fs::last_write_time(directory_ / "0000000000000001.packed", fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(directory_ / "0000000000000002.packed", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(finds(config(1, limit)));  // used just now
  keep(config(3, limit));
  EXPECT_TRUE(finds(config(1, limit)));
  EXPECT_FALSE(finds(config(2, limit)));
  EXPECT_TRUE(finds(config(3, limit)));
}

// Their names are of a model that nobody will ask for again.
TEST_F(PackedCacheTest, FilesOfAnEarlierVersionGo) {
  keep(config(1));
  const fs::path old = directory_ / "00000000000000ff.packed";
  fs::copy_file(files().front(), old);
  std::fstream(old, std::ios::in | std::ios::out | std::ios::binary).write("MRPACK01", 8);
  keep(config(2));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(finds(config(1)));
  EXPECT_TRUE(finds(config(2)));
}

TEST_F(PackedCacheTest, WhatAKilledStartLeftCountsAndGoes) {
  fs::create_directories(directory_);
  const fs::path left = directory_ / "0000000000000009.packed.tmp";
  std::ofstream(left) << std::string(5u << 20, 'x');
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(1));
  keep(config(1, 7u << 20));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(finds(config(1)));
}

TEST_F(PackedCacheTest, AModelLargerThanTheLimitIsNotKept) {
  keep(config(1, 1u << 20));
  EXPECT_TRUE(files().empty());
}

TEST_F(PackedCacheTest, AModelThatWillFindNoRoomIsNotBegun) {
  PackedCacheConfig large = config(1);
  large.expected_bytes = large.limit_bytes + 1;
  PackedCache cache(large, Env::system());
  add(cache, "first", "q4_0 1", first_);
  EXPECT_TRUE(files().empty());
  cache.finish();
  EXPECT_TRUE(files().empty());
  large.expected_bytes = large.limit_bytes;
  keep(large);
  EXPECT_TRUE(finds(large));
}

TEST_F(PackedCacheTest, ADirectoryThatCannotBeMadeIsNoError) {
  std::ofstream(directory_.string()) << "a file";
  keep(config(1));
  EXPECT_FALSE(finds(config(1)));
  fs::remove(directory_);
}

}  // namespace
}  // namespace millrace::backend::cpu
