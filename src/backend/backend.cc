#include "backend/backend.h"

namespace millrace::backend {

DeviceVector Backend::make_vector(std::span<const float> values) {
  if (values.empty()) return {};
  DeviceBuffer memory = allocate(values.size_bytes()).or_throw();
  upload(std::as_bytes(values), memory.address());
  return {std::move(memory), std::ssize(values)};
}

}  // namespace millrace::backend
