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

}  // namespace millrace::backend::cpu
