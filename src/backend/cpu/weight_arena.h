#pragma once

#include <cstddef>
#include <memory>

#include "base/buffer.h"

namespace millrace::backend::cpu {

// Memory for packed weights, taken from chunks large enough for huge pages: a model of many small weights is then read
// through as few page table entries as one of large ones. A chunk goes when the last weight in it does.
class WeightArena {
 public:
  struct Slice {
    std::shared_ptr<const Buffer> chunk;
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  // Aligned to 64 bytes, zeroed. Throws LoadError (kResourceExhausted). One thread at a time.
  Slice take(std::size_t bytes);

 private:
  std::shared_ptr<const Buffer> chunk_;
  std::size_t used_ = 0;
};

}  // namespace millrace::backend::cpu
