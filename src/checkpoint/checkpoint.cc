#include "checkpoint/checkpoint.h"

#include "base/check.h"

namespace millrace::checkpoint {

std::string_view to_string(Checkpoint::Container container) noexcept {
  switch (container) {
    case Checkpoint::Container::kGguf: return "gguf";
    case Checkpoint::Container::kSafetensors: return "safetensors";
    case Checkpoint::Container::kTorch: return "torch";
  }
  return "";
}

const RawTensor* Checkpoint::find(const std::string& wanted) const {
  const auto it = tensor_index.find(wanted);
  return it == tensor_index.end() ? nullptr : &tensors[it->second];
}

const RawTensor* Checkpoint::find_integers(const std::string& wanted) const {
  const auto it = integer_index.find(wanted);
  return it == integer_index.end() ? nullptr : &integers[it->second].tensor;
}

Result<void> Checkpoint::read(const RawTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  CHECK_LE(offset + out.size(), tensor.bytes);
  return files[static_cast<std::size_t>(tensor.file)]->read(tensor.offset + offset, out);
}

}  // namespace millrace::checkpoint
