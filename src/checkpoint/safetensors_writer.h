#pragma once

#include <span>
#include <string>
#include <utility>

#include "checkpoint/tensor_writing.h"

namespace millrace::checkpoint {

using SafetensorsMetadata = std::pair<std::string, std::string>;

// Writes a .safetensors file with the tensors in the given order. `data` is called for one tensor after the other, so
// none is kept in memory. kInvalidArgument for a format without a safetensors dtype, or a repeated name.
Result<void> write_safetensors(const std::string& path, std::span<const SafetensorsMetadata> metadata,
                               std::span<const TensorSpec> tensors, const DataSource& data);

// The header alone: length, JSON, and spaces up to a multiple of 8.
Result<std::string> safetensors_header_bytes(std::span<const SafetensorsMetadata> metadata,
                                             std::span<const TensorSpec> tensors);

}  // namespace millrace::checkpoint
