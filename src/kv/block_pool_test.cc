#include "kv/block_table.h"

#include <gtest/gtest.h>

#include <random>

namespace millrace::kv {
namespace {

TEST(BlockPool, GivesEachBlockOnceAndTakesItBackWithItsLastReference) {
  BlockPool pool(4);
  std::vector<BlockId> blocks;
  ASSERT_TRUE(pool.allocate(3, kNoBlock, blocks));
  EXPECT_EQ(blocks, (std::vector<BlockId>{0, 1, 2}));
  EXPECT_FALSE(pool.allocate(2, kNoBlock, blocks));
  EXPECT_EQ(blocks.size(), 3u);
  pool.retain(1);
  pool.release(1);
  EXPECT_EQ(pool.free(), 1);
  pool.release(1);
  EXPECT_EQ(pool.free(), 2);
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
