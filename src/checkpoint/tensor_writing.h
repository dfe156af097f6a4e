#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/output_file.h"
#include "base/result.h"
#include "quant/format.h"
#include "tensor/shape.h"

// Common parts of the writers of both file formats.

namespace millrace::checkpoint {

// A tensor to write; the shape is outermost first, as in RawTensor.
struct TensorSpec {
  std::string name;
  const quant::QuantFormat* format = nullptr;
  Shape shape;

  // Bytes of its data. Valid only if check_writable() has succeeded.
  std::uint64_t bytes() const noexcept;
};

// kInvalidArgument unless all sizes are positive and do not overflow, and rows are whole blocks of the format.
Result<void> check_writable(const TensorSpec& tensor);

// Provides tensor data while a file is written. Called once for each tensor, in the order of the file; passes the bytes
// to `sink` in any number of pieces, together exactly the expected size.
using DataSink = std::function<Result<void>(std::span<const std::byte>)>;
using DataSource = std::function<Result<void>(std::size_t tensor, const DataSink& sink)>;

// Runs `source` for one tensor and checks that it delivers `bytes` bytes.
Result<void> write_tensor_data(OutputFile& file, const DataSource& source, std::size_t tensor, const std::string& name,
                               std::uint64_t bytes);

}  // namespace millrace::checkpoint
