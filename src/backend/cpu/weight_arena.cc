#include "backend/cpu/weight_arena.h"

#include <algorithm>

namespace millrace::backend::cpu {
namespace {
// Only what is written becomes resident.
constexpr std::size_t kChunkBytes = std::size_t{64} << 20;
}  // namespace

WeightArena::Slice WeightArena::take(std::size_t bytes) {
  const std::size_t size = (bytes + 63) / 64 * 64;
  if (chunk_ == nullptr || chunk_->size() - used_ < size) {
    chunk_ = std::make_shared<const Buffer>(Buffer::allocate(std::max(size, kChunkBytes)).or_throw());
    used_ = 0;
  }
  Slice slice{chunk_, chunk_->data() + used_, bytes};
  used_ += size;
  return slice;
}

}  // namespace millrace::backend::cpu
