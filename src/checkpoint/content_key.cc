#include "checkpoint/content_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checksum.h"

namespace millrace::checkpoint {

std::uint64_t content_key(const Checkpoint& checkpoint) {
  std::uint64_t key = checkpoint.merged.empty() ? 0 : checksum(checkpoint.merged);
  for (const auto& file : checkpoint.files) key = checksum(fmt::format("{} {}", file->size(), file->modified()), key);
  std::array<std::byte, 2048> sample{};
  const auto add = [&](const RawTensor& tensor) {
    const std::string_view format = tensor.format == nullptr ? "integers" : tensor.format->name;
    key = checksum(
        fmt::format("{} {} {} {} {}", tensor.name, format, tensor.shape.to_string(), tensor.file, tensor.offset), key);
    const std::uint64_t size = std::min<std::uint64_t>(sample.size(), tensor.bytes);
    for (const std::uint64_t offset : {std::uint64_t{0}, (tensor.bytes - size) / 2, tensor.bytes - size}) {
      const std::span<std::byte> out = std::span(sample).first(size);
      checkpoint.read(tensor, offset, out).or_throw();
      key = checksum(out, key);
    }
  };
  for (const RawTensor& tensor : checkpoint.tensors) add(tensor);
  for (const IntegerTensor& integers : checkpoint.integers) add(integers.tensor);
  return key;
}

}  // namespace millrace::checkpoint
