#include "checkpoint/integer_tensor.h"

#include <utility>

namespace millrace::checkpoint {

void set_integers_apart(std::vector<RawTensor>& tensors, std::vector<IntegerTensor>* integers) {
  std::erase_if(tensors, [&](RawTensor& tensor) {
    if (tensor.format != nullptr) return false;
    const std::int64_t value_bytes = static_cast<std::int64_t>(tensor.bytes) / tensor.shape.elements();
    integers->push_back({std::move(tensor), value_bytes});
    return true;
  });
}

}  // namespace millrace::checkpoint
