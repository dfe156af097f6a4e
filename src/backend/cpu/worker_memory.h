#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/scratch.h"

namespace millrace::backend::cpu {

// Memory of one worker each, for what an operation keeps between two of its loops. It begins with a row of f32, where a
// worker puts one that it has normalised.
class WorkerMemory {
 public:
  explicit WorkerMemory(int workers) : of_workers_(static_cast<std::size_t>(workers)) {}

  // At least so many bytes for each; while a step is recorded, on the stream's thread.
  void reserve(std::size_t bytes) {
    for (Scratch& scratch : of_workers_) scratch.reserve(bytes);
  }
  std::byte* of(int worker) const noexcept { return of_workers_[static_cast<std::size_t>(worker)].data(); }
  float* normed_row(int worker) const noexcept { return reinterpret_cast<float*>(of(worker)); }
  // What that row takes: what else an operation keeps lies behind it.
  static std::size_t row_bytes(std::int64_t columns) noexcept {
    return static_cast<std::size_t>((columns + 15) / 16 * 16) * sizeof(float);
  }

 private:
  std::vector<Scratch> of_workers_;
};

}  // namespace millrace::backend::cpu
