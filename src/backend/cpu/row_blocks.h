#pragma once

#include <cstdint>

// How the rows of a product are shared by the workers.

namespace millrace::backend::cpu {

// Rows of a block that one worker takes through the whole operation, a multiple of kTileRows; or 0 where all workers
// share the columns instead: there are few rows, or blocks of them would leave a worker without (33 rows, three
// tiles, take two workers as long as 64).
std::int64_t row_block(std::int64_t rows, std::int64_t workers) noexcept;

inline constexpr std::int64_t kMaxBlockRows = 64;  // a panel stays in L1 for so many

// The most rows of which the columns are shared, in steps of up to `rows`.
std::int64_t max_shared_rows(std::int64_t rows, std::int64_t workers) noexcept;

}  // namespace millrace::backend::cpu
