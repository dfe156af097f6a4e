#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_metadata.h"

namespace millrace::checkpoint {

// The header of a GGUF file: metadata as stored, tensors with absolute offsets. Everything is checked: sizes and
// products against overflow, every tensor to be aligned, inside the file and apart from every other.
struct GgufHeader {
  std::uint32_t version = 0;
  std::uint64_t alignment = 0;
  std::uint64_t data_offset = 0;
  GgufMetadata metadata;
  std::vector<RawTensor> tensors;  // in file order, RawTensor::file = 0
};

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr std::uint64_t kGgufDefaultAlignment = 32;
// Metadata and tensor directory together; the largest published ones (250 k tokens, 500 k merges) take 15 MB.
inline constexpr std::uint64_t kGgufMaxHeaderBytes = 256 << 20;

// Versions 2 and 3, little-endian. Throws LoadError. Allocates a small multiple of the header's bytes at most.
GgufHeader read_gguf_header(const RandomAccessFile& file);

}  // namespace millrace::checkpoint
