#include "model/adapters/file_in_memory.h"

#include <cstring>

namespace millrace::model {

Result<void> FileInMemory::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
    return make_error(ErrorCode::kBadFile, path_, "{}: ends at {}, {} bytes expected at {}", path_, bytes_.size(),
                      out.size(), offset);
  }
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

}  // namespace millrace::model
