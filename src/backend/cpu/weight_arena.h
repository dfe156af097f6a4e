#pragma once

#include <cstddef>
#include <memory>

#include "base/buffer.h"

namespace millrace::backend::cpu {

// Memory for packed weights, in chunks large enough for huge pages, so that a model of many small weights needs as few
// page table entries as one of large weights. A chunk is freed with the last weight in it.
class WeightArena {
 public:
  struct Slice {
    std::shared_ptr<const Buffer> chunk;
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  // Memory aligned to 64 bytes and zeroed. Throws LoadError (kResourceExhausted). One thread at a time.
  Slice take(std::size_t bytes);

 private:
  std::shared_ptr<const Buffer> chunk_;
  std::size_t used_ = 0;
};

}  // namespace millrace::backend::cpu
