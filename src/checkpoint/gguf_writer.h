#pragma once

#include <span>
#include <string>

#include "checkpoint/gguf_metadata.h"
#include "checkpoint/tensor_writing.h"

namespace millrace::checkpoint {

// Writes a GGUF v3 file: the metadata in the given order, then the tensors. `data` is called for one tensor after the
// other, so none is kept in memory. The alignment is general.alignment (uint32) of the metadata, else 32.
// kInvalidArgument for a tensor that the reader would not accept (rank, row length, format without a GGUF type).
Result<void> write_gguf(const std::string& path, std::span<const GgufEntry> metadata,
                        std::span<const TensorSpec> tensors, const DataSource& data);

// The header alone: all bytes before the first tensor's data, alignment included.
Result<std::string> gguf_header_bytes(std::span<const GgufEntry> metadata, std::span<const TensorSpec> tensors);

}  // namespace millrace::checkpoint
