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

// What the writers of both file formats share.

namespace millrace::checkpoint {

// A tensor to be written; shape outermost first, as RawTensor.
struct TensorSpec {
  std::string name;
  const quant::QuantFormat* format = nullptr;
  Shape shape;

  // Bytes of the data; only once check_writable has passed.
  std::uint64_t bytes() const noexcept;
};

// kInvalidArgument unless every size is positive and fits, and rows are whole blocks.
Result<void> check_writable(const TensorSpec& tensor);

// Where a tensor's data come from while a file is written: called once per tensor, in the order of the file; passes the
// bytes to `sink` in as many pieces as it likes, together exactly the size announced.
using DataSink = std::function<Result<void>(std::span<const std::byte>)>;
using DataSource = std::function<Result<void>(std::size_t tensor, const DataSink& sink)>;

// Runs `source` for one tensor and checks that it delivered `bytes` bytes.
Result<void> write_tensor_data(OutputFile& file, const DataSource& source, std::size_t tensor, const std::string& name,
                               std::uint64_t bytes);

}  // namespace millrace::checkpoint
