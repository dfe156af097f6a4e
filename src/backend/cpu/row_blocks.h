#pragma once

#include <cstdint>

// How the rows of a product are divided among the workers.

namespace millrace::backend::cpu {

// Rows of a block that one worker takes through a whole operation, a multiple of kTileRows. 0: all workers share the
// columns instead, because there are few rows, or blocks would leave a worker idle (33 rows, three tiles, take two
// workers as long as 64).
std::int64_t row_block(std::int64_t rows, std::int64_t workers) noexcept;

inline constexpr std::int64_t kMaxBlockRows = 64;  // a panel stays in the L1 cache for so many rows

// The largest number of rows, in steps of up to `rows`, with which the workers share the columns.
std::int64_t max_shared_rows(std::int64_t rows, std::int64_t workers) noexcept;

}  // namespace millrace::backend::cpu
