#include "checkpoint/checkpoint.h"

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {

std::string_view to_string(Checkpoint::Container container) noexcept {
  switch (container) {
    case Checkpoint::Container::kGguf: return "gguf";
    case Checkpoint::Container::kSafetensors: return "safetensors";
    case Checkpoint::Container::kTorch: return "torch";
  }
  return "";
}

void index_names(Checkpoint& checkpoint) {
  const auto add = [&](auto& index, const RawTensor& tensor, std::size_t number) {
    if (index.emplace(tensor.name, number).second) return;
    throw_load_error(ErrorCode::kBadFile, tensor.name, "{}: tensor {}: another one is of the same weight",
                     checkpoint.path, quote_name(tensor.name));
  };
  checkpoint.tensor_index.clear();
  checkpoint.integer_index.clear();
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) add(checkpoint.tensor_index, checkpoint.tensors[i], i);
  for (std::size_t i = 0; i < checkpoint.integers.size(); ++i) {
    add(checkpoint.integer_index, checkpoint.integers[i].tensor, i);
  }
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
  bytes_read_->fetch_add(out.size(), std::memory_order_relaxed);
  return files[static_cast<std::size_t>(tensor.file)]->read(tensor.offset + offset, out);
}

}  // namespace millrace::checkpoint
