#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_metadata.h"

namespace millrace::checkpoint {

// The header of a GGUF file: metadata as stored, and tensors with absolute offsets. Sizes and products are checked for
// overflow; every tensor is aligned, inside the file, and overlaps no other.
struct GgufHeader {
  std::uint32_t version = 0;
  std::uint64_t alignment = 0;
  std::uint64_t data_offset = 0;
  GgufMetadata metadata;
  std::vector<RawTensor> tensors;  // in file order, RawTensor::file = 0
};

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr std::uint64_t kGgufDefaultAlignment = 32;
// Limit of metadata and tensor directory together. The largest published ones (250 k tokens, 500 k merges) take 15 MB.
inline constexpr std::uint64_t kGgufMaxHeaderBytes = 256 << 20;

// Reads versions 2 and 3, little-endian. Allocates at most a small multiple of the header's bytes. Throws LoadError.
GgufHeader read_gguf_header(const RandomAccessFile& file);

}  // namespace millrace::checkpoint
