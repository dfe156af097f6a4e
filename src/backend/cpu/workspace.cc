// How much memory of its own the backend needs for a step.

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/hidden_columns.h"
#include "backend/cpu/kept_rows.h"
#include "backend/cpu/row_blocks.h"

namespace millrace::backend::cpu {
namespace {

std::size_t all_rows(std::int64_t rows, std::int64_t columns) noexcept {
  return static_cast<std::size_t>(rows) * WorkerMemory::row_bytes(columns);
}

}  // namespace

// Of one operation at a time. An MLP: inputs of both products, as f32 at the widest, and of each worker a chunk of gate
// and up and the rows in its kernel's own order, whether workers share the columns or have a block of rows each.
// Experts: inputs of all rows, the outputs of all choices, and of each worker the inputs of a block.
std::size_t CpuBackend::workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn,
                                        std::int64_t routed) const noexcept {
  const std::int64_t shared = max_shared_rows(rows, threads());
  const std::int64_t together = std::max(shared, std::min(rows, kMaxBlockRows * threads()));
  const std::int64_t of_one = std::max(shared, std::min(rows, kMaxBlockRows));
  const auto workers = static_cast<std::size_t>(threads());
  const std::int64_t groups = (std::max(hidden, ffn) + kGroup - 1) / kGroup;
  const auto kept =
      static_cast<std::size_t>(std::min(of_one, KeptRows::kBlocks * kMaxBlockRows) * groups) * KeptRows::kGroupBytes;
  const std::size_t chunks = std::max(HiddenColumns::chunk_bytes(1), HiddenColumns::chunk_bytes(of_one));
  const std::size_t mlp = all_rows(together, hidden) + all_rows(together, ffn) + workers * (chunks + kept);
  if (routed == 0) return mlp;
  const std::int64_t pairs = rows * routed, block = std::min(rows, kMaxBlockRows);
  const std::size_t of_blocks = workers * (all_rows(block, hidden) + all_rows(block, ffn));
  return std::max(
      mlp, all_rows(rows, hidden) + all_rows(pairs, std::max(hidden, ffn)) + of_blocks + workers * (chunks + kept));
}

}  // namespace millrace::backend::cpu
