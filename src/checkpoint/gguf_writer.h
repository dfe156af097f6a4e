#pragma once

#include <span>
#include <string>

#include "checkpoint/gguf_metadata.h"
#include "checkpoint/tensor_writing.h"

namespace millrace::checkpoint {

// Writes a GGUF v3 file: metadata in the order given, then the tensors, whose data are asked from `data` one tensor
// after the other and never held. Alignment is general.alignment if the metadata set it (uint32), else 32. A tensor
// that the reader would refuse (rank, row length, format without a GGUF number) is kInvalidArgument.
Result<void> write_gguf(const std::string& path, std::span<const GgufEntry> metadata,
                        std::span<const TensorSpec> tensors, const DataSource& data);

// The header alone: all bytes up to the first tensor's data, padded to the alignment.
Result<std::string> gguf_header_bytes(std::span<const GgufEntry> metadata, std::span<const TensorSpec> tensors);

}  // namespace millrace::checkpoint
