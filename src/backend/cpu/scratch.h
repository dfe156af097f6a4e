#pragma once

#include <cstddef>
#include <utility>
#include <vector>

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

// The same for memory that recorded phases have pointers to: where more is asked for, what was there stays until the
// program has run.
class PinnedScratch {
 public:
  void reserve(std::size_t bytes) {
    if (bytes <= memory_.size()) return;
    outgrown_.push_back(std::move(memory_));
    memory_ = Buffer::allocate(bytes).or_throw();
  }
  void end_step() noexcept { outgrown_.clear(); }
  std::byte* data() const noexcept { return memory_.data(); }

 private:
  Buffer memory_;
  std::vector<Buffer> outgrown_;
};

}  // namespace millrace::backend::cpu
