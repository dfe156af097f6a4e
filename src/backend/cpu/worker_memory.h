#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/scratch.h"

namespace millrace::backend::cpu {

// Memory of each worker, for values between two loops of one operation. It begins with a row of f32 for a normalised
// row.
class WorkerMemory {
 public:
  explicit WorkerMemory(int workers) : of_workers_(static_cast<std::size_t>(workers)) {}

  // Ensures so many bytes for each worker. Only while a step is recorded, on the stream's thread.
  void reserve(std::size_t bytes) {
    for (Scratch& scratch : of_workers_) scratch.reserve(bytes);
  }
  std::byte* of(int worker) const noexcept { return of_workers_[static_cast<std::size_t>(worker)].data(); }
  float* normed_row(int worker) const noexcept { return reinterpret_cast<float*>(of(worker)); }
  // Bytes of that first row; the operation's other values follow after it.
  static std::size_t row_bytes(std::int64_t columns) noexcept {
    return static_cast<std::size_t>((columns + 15) / 16 * 16) * sizeof(float);
  }

 private:
  std::vector<Scratch> of_workers_;
};

}  // namespace millrace::backend::cpu
