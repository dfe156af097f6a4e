#include "checkpoint/gguf_writer.h"

#include <type_traits>
#include <utility>

#include "checkpoint/gguf_reader.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

class HeaderBytes {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      bytes_.push_back(value ? '\1' : '\0');
    } else {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  void put(const GgufArray& array) {
    put(static_cast<std::uint32_t>(array.elements.index()));
    std::visit(
        [this](const auto& elements) {
          using T = typename std::decay_t<decltype(elements)>::value_type;
          put(static_cast<std::uint64_t>(elements.size()));
          for (const T& element : elements) put(element);
        },
        array.elements);
  }
  void put_typed(const GgufValue& value) {
    put(static_cast<std::uint32_t>(value.index()));
    std::visit([this](const auto& v) { put(v); }, value);
  }
  void put_raw(std::string_view text) { bytes_ += text; }
  void pad_to(std::uint64_t alignment) { bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment, '\0'); }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

std::uint64_t alignment_of(std::span<const GgufEntry> metadata) {
  for (const auto& [key, value] : metadata) {
    if (key != "general.alignment") continue;
    if (const auto* alignment = std::get_if<std::uint32_t>(&value)) return *alignment;
  }
  return kGgufDefaultAlignment;
}

std::uint64_t padding(std::uint64_t bytes, std::uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

}  // namespace

Result<std::string> gguf_header_bytes(std::span<const GgufEntry> metadata, std::span<const TensorSpec> tensors) {
  const std::uint64_t alignment = alignment_of(metadata);
  if (alignment < 8 || (alignment & (alignment - 1)) != 0) {
    return make_error(ErrorCode::kInvalidArgument, "general.alignment",
                      "alignment {}: a power of two from 8 on expected", alignment);
  }
  HeaderBytes out;
  out.put_raw(kGgufMagic);
  out.put(std::uint32_t{3});
  out.put(static_cast<std::uint64_t>(tensors.size()));
  out.put(static_cast<std::uint64_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    out.put(key);
    out.put_typed(value);
  }
  std::uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    if (auto good = check_writable(tensor); !good) return good.error();
    if (tensor.format->gguf_type < 0 || tensor.shape.rank() < 1) {
      return make_error(ErrorCode::kInvalidArgument, tensor.name, "tensor {}: GGUF holds no {} of rank {}",
                        quote_name(tensor.name), tensor.format->name, tensor.shape.rank());
    }
    out.put(tensor.name);
    out.put(static_cast<std::uint32_t>(tensor.shape.rank()));
    for (int i = tensor.shape.rank() - 1; i >= 0; --i) out.put(static_cast<std::uint64_t>(tensor.shape[i]));
    out.put(static_cast<std::uint32_t>(tensor.format->gguf_type));
    out.put(offset);
    offset += tensor.bytes();
    offset += padding(offset, alignment);
  }
  out.pad_to(alignment);
  return out.take();
}

Result<void> write_gguf(const std::string& path, std::span<const GgufEntry> metadata,
                        std::span<const TensorSpec> tensors, const DataSource& data) {
  auto header = gguf_header_bytes(metadata, tensors);
  if (!header) return header.error();
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  if (auto written = file->write(std::as_bytes(std::span(*header))); !written) return written;
  const std::uint64_t alignment = alignment_of(metadata);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (auto written = write_tensor_data(*file, data, i, tensors[i].name, tensors[i].bytes()); !written) return written;
    if (auto padded = file->write_zeros(padding(tensors[i].bytes(), alignment)); !padded) return padded;
  }
  return file->commit();
}

}  // namespace millrace::checkpoint
