#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <random>

#include "kv/block_table.h"

namespace millrace::kv {
namespace {

TEST(BlockPool, GivesEachBlockOnceAndTakesItBackWithItsLastReference) {
  BlockPool pool(4);
  std::vector<BlockId> blocks;
  ASSERT_TRUE(pool.allocate(3, kNoBlock, blocks));
  EXPECT_EQ(blocks, (std::vector<BlockId>{0, 1, 2}));
  EXPECT_FALSE(pool.allocate(2, 2, blocks));
  EXPECT_EQ(blocks.size(), 3u);
  pool.retain(1);
  pool.release(1);
  EXPECT_EQ(pool.free(), 1);
  pool.release(1);
  EXPECT_EQ(pool.free(), 2);
  pool.check_integrity();
}

TEST(BlockPool, LetsSequencesThatGrowTogetherGrowInPlace) {
  BlockPool pool(8 * 64);
  std::vector<BlockTable> tables;
  for (int i = 0; i < 8; ++i) {
    tables.emplace_back(pool, 32);
    ASSERT_TRUE(tables.back().reserve(32));
  }
  for (std::int64_t pages = 2; pages <= 10; ++pages) {
    for (BlockTable& table : tables) ASSERT_TRUE(table.reserve(32 * pages));
  }
  for (const BlockTable& table : tables) EXPECT_EQ(table.long_extent_tokens(), 320);
}

TEST(BlockPool, JoinsFreedNeighbours) {
  BlockPool pool(64);
  std::vector<BlockId> blocks, run;
  ASSERT_TRUE(pool.allocate(64, kNoBlock, blocks));
  for (const BlockId block : {8, 6, 7, 9, 5, 20, 22}) pool.release(block);
  EXPECT_EQ(pool.free_behind(4), 5);
  EXPECT_FALSE(pool.allocate_run(6, 6, run));
  ASSERT_TRUE(pool.allocate_run(5, 5, run));
  EXPECT_EQ(run, (std::vector<BlockId>{5, 6, 7, 8, 9}));
  pool.check_integrity();
}

TEST(BlockPool, CountsWhatOnlyTheTreeHolds) {
  BlockPool pool(4);
  std::vector<BlockId> blocks;
  ASSERT_TRUE(pool.allocate(2, kNoBlock, blocks));
  pool.publish(0);
  EXPECT_EQ(pool.idle(), 0);
  pool.release(0);
  EXPECT_EQ(pool.idle(), 1);
  pool.retain(0);
  EXPECT_EQ(pool.idle(), 0);
  pool.release(0);
  pool.unpublish(0);
  EXPECT_EQ(pool.idle(), 0);
  EXPECT_EQ(pool.free(), 3);
  pool.check_integrity();
}

TEST(BlockTable, HoldsWhatItsTokensNeedAndNothingWhenDestroyed) {
  BlockPool pool(8);
  {
    BlockTable table(pool, 32);
    EXPECT_TRUE(table.reserve(33));
    EXPECT_EQ(table.blocks().size(), 2u);
    EXPECT_TRUE(table.reserve(64));
    EXPECT_EQ(pool.used(), 2);
    EXPECT_FALSE(table.reserve(32 * 9));
    EXPECT_EQ(pool.used(), 2);
    table.truncate(32);
    EXPECT_EQ(pool.used(), 1);
    BlockTable other = std::move(table);
    EXPECT_EQ(other.capacity_tokens(), 32);
  }
  EXPECT_EQ(pool.free(), 8);
}

TEST(BlockTable, TakesTheRestOfOneThatBeginsAlike) {
  BlockPool pool(8);
  BlockTable table(pool, 32);
  ASSERT_TRUE(table.reserve(32 * 3));
  BlockTable other(pool, 32);
  other.share(table.blocks().first(1));
  ASSERT_TRUE(other.reserve(32 * 4));
  const std::vector<BlockId> wanted(other.blocks().begin(), other.blocks().end());
  EXPECT_EQ(pool.used(), 6);
  table.take_rest(1, other);
  EXPECT_EQ(std::vector<BlockId>(table.blocks().begin(), table.blocks().end()), wanted);
  EXPECT_EQ(other.blocks().size(), 1u);
  EXPECT_EQ(pool.used(), 4);
  other.truncate(0);
  EXPECT_EQ(pool.references(wanted[0]), 1);
  table.truncate(0);
  EXPECT_EQ(pool.used(), 0);
  pool.check_integrity();
}

TEST(BlockTable, CountsTokensInLongRunsOrInOne) {
  BlockPool pool(64);
  BlockTable table(pool, 32);
  ASSERT_TRUE(table.reserve(32 * 3));
  EXPECT_EQ(table.long_extent_tokens(), 96);
  std::vector<BlockId> far;
  ASSERT_TRUE(pool.allocate(1, 40, far));
  table.share(far);
  pool.release(far[0]);
  EXPECT_EQ(table.long_extent_tokens(), 0);  // two short runs
  ASSERT_TRUE(table.reserve(32 * 20));
  EXPECT_EQ(table.long_extent_tokens(), 32 * 17);
}

TEST(BlockPool, StaysWholeUnderRandomUse) {
  BlockPool pool(64);
  std::mt19937 random(1);
  std::vector<BlockTable> tables;
  for (int i = 0; i < 8; ++i) tables.emplace_back(pool, 16);
  std::vector<std::int64_t> tokens(8, 0);
  for (int step = 0; step < 5000; ++step) {
    const std::size_t i = random() % 8;
    const std::int64_t wanted = static_cast<std::int64_t>(random() % 300);
    if (wanted > tokens[i]) {
      if (tables[i].reserve(wanted)) tokens[i] = wanted;
    } else {
      tables[i].truncate(wanted);
      tokens[i] = wanted;
    }
    std::int32_t used = 0;
    for (const BlockTable& table : tables) used += static_cast<std::int32_t>(table.blocks().size());
    ASSERT_EQ(used, pool.used());
    pool.check_integrity();
  }
}

}  // namespace
}  // namespace millrace::kv
