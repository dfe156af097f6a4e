#pragma once

#include <cstddef>

#include "base/buffer.h"

namespace millrace::backend::cpu {

// Memory that grows while a step is recorded, and does not move while it runs.
class Scratch {
 public:
  void reserve(std::size_t bytes) {
    if (bytes > memory_.size()) memory_ = Buffer::allocate(bytes).or_throw();
  }
  std::byte* data() const noexcept { return memory_.data(); }
  template <typename T>
  T* as() const noexcept {
    return memory_.as<T>();
  }

 private:
  Buffer memory_;
};

// Memory of the calling thread, for the time of one call of a kernel: up to 4 bytes for each of its activations, as
// CpuBackend::workspace_bytes() counts them.
inline Scratch& scratch_of_thread() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace millrace::backend::cpu
