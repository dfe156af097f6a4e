#include "checkpoint/tensor_writing.h"

#include <optional>

#include "base/checked.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {

std::uint64_t TensorSpec::bytes() const noexcept {
  return static_cast<std::uint64_t>(shape.elements() / format->block_values) *
         static_cast<std::uint64_t>(format->block_bytes);
}

Result<void> check_writable(const TensorSpec& tensor) {
  const auto bad = [&](std::string_view why) {
    return make_error(ErrorCode::kInvalidArgument, tensor.name, "tensor {}: {}", quote_name(tensor.name), why);
  };
  if (tensor.format == nullptr) return bad("no format");
  std::int64_t elements = 1;
  for (int i = 0; i < tensor.shape.rank(); ++i) {
    const auto product = tensor.shape[i] < 1 ? std::nullopt : checked_mul(elements, tensor.shape[i]);
    if (!product) return bad("dimensions must be positive and their product fit 63 bits");
    elements = *product;
  }
  if (tensor.shape.back() % tensor.format->block_values != 0)
    return bad("rows are not a multiple of the format's block");
  if (!checked_mul<std::int64_t>(elements / tensor.format->block_values, tensor.format->block_bytes)) {
    return bad("its size in bytes overflows");
  }
  return {};
}

Result<void> write_tensor_data(OutputFile& file, const DataSource& source, std::size_t tensor, const std::string& name,
                               std::uint64_t bytes) {
  const std::uint64_t start = file.position();
  const auto sink = [&](std::span<const std::byte> piece) -> Result<void> {
    if (piece.size() > bytes - (file.position() - start)) {
      return make_error(ErrorCode::kInvalidArgument, name, "tensor {}: more than the {} bytes announced",
                        quote_name(name), bytes);
    }
    return file.write(piece);
  };
  if (auto delivered = source(tensor, sink); !delivered) return delivered;
  if (file.position() - start == bytes) return {};
  return make_error(ErrorCode::kInvalidArgument, name, "tensor {}: {} bytes delivered, {} announced", quote_name(name),
                    file.position() - start, bytes);
}

}  // namespace millrace::checkpoint
