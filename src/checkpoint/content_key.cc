#include "checkpoint/content_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/checksum.h"

namespace millrace::checkpoint {

ContentKeys content_keys(const Checkpoint& checkpoint) {
  ContentKeys keys;
  keys.content = keys.copies = checkpoint.merged.empty() ? 0 : checksum(checkpoint.merged);
  for (const auto& file : checkpoint.files) {
    keys.content = checksum(fmt::format("{} {}", file->size(), file->modified()), keys.content);
    keys.copies = checksum(fmt::format("{}", file->size()), keys.copies);
    keys.times = checksum(fmt::format("{}", file->modified()), keys.times);
  }
  std::array<std::byte, 2048> sample{};
  const auto add = [&](const RawTensor& tensor) {
    const std::string_view format = tensor.format == nullptr ? "integers" : tensor.format->name;
    const std::string entry =
        fmt::format("{} {} {} {} {}", tensor.name, format, tensor.shape.to_string(), tensor.file, tensor.offset);
    for (std::uint64_t* key : {&keys.content, &keys.copies}) *key = checksum(entry, *key);
    const std::uint64_t size = std::min<std::uint64_t>(sample.size(), tensor.bytes);
    for (const std::uint64_t offset : {std::uint64_t{0}, (tensor.bytes - size) / 2, tensor.bytes - size}) {
      const std::span<std::byte> out = std::span(sample).first(size);
      checkpoint.read(tensor, offset, out).or_throw();
      for (std::uint64_t* key : {&keys.content, &keys.copies}) *key = checksum(out, *key);
    }
  };
  for (const RawTensor& tensor : checkpoint.tensors) add(tensor);
  for (const IntegerTensor& integers : checkpoint.integers) add(integers.tensor);
  return keys;
}

std::uint64_t content_key(const Checkpoint& checkpoint) { return content_keys(checkpoint).content; }

std::uint64_t whole_key(const Checkpoint& checkpoint) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::byte> piece(kPiece);
  std::uint64_t key = 0;
  for (const auto& file : checkpoint.files) {
    for (std::uint64_t at = 0; at < file->size(); at += kPiece) {
      const auto out =
          std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file->size() - at)));
      file->read(at, out).or_throw();
      key = checksum(out, key);
    }
  }
  return key;
}

}  // namespace millrace::checkpoint
