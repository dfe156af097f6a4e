#include "backend/cpu/row_blocks.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernels.h"

namespace millrace::backend::cpu {
namespace {

TEST(RowBlocks, LeaveNoWorkerWithoutRows) {
  for (std::int64_t workers = 1; workers <= 16; ++workers) {
    for (std::int64_t rows = 1; rows <= 1100; ++rows) {
      const std::int64_t block = row_block(rows, workers);
      if (block == 0) continue;
      EXPECT_EQ(block % kTileRows, 0);
      const std::int64_t blocks = (rows + block - 1) / block;
      const std::int64_t busiest = (blocks + workers - 1) / workers * block;
      EXPECT_LE(10 * busiest * workers, 11 * rows) << rows << " rows, " << workers << " workers";
    }
  }
}

TEST(RowBlocks, AreTakenWhereTheyShareWell) {
  EXPECT_EQ(row_block(31, 2), 0);
  EXPECT_EQ(row_block(32, 2), 16);
  for (const std::int64_t uneven : {33, 40, 48, 80, 112}) EXPECT_EQ(row_block(uneven, 2), 0) << uneven;
  EXPECT_EQ(row_block(64, 2), 32);
  EXPECT_EQ(row_block(128, 2), 64);
  EXPECT_EQ(row_block(512, 2), 64);
  EXPECT_EQ(row_block(1000, 1), 48);
}

TEST(RowBlocks, AreNoLargerThanIsSaidAndNoMoreRowsAreShared) {
  for (const std::int64_t workers : {1, 2, 3, 8, 64}) {
    for (const std::int64_t most : {1, 16, 100, 512, 2048}) {
      std::int64_t shared = 0;
      for (std::int64_t rows = 1; rows <= most; ++rows) {
        const std::int64_t block = row_block(rows, workers);
        EXPECT_LE(block, kMaxBlockRows);
        if (block == 0) shared = rows;
      }
      EXPECT_EQ(max_shared_rows(most, workers), shared) << most << " rows, " << workers << " workers";
    }
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
