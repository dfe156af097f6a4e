#include "checkpoint/safetensors_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "checkpoint/bounded_reader.h"
#include "checkpoint/folded_shape.h"
#include "checkpoint/quote_name.h"
#include "checkpoint/safetensors_header.h"

namespace millrace::checkpoint {
namespace {

template <typename... Args>
[[noreturn]] void fail_tensor(const std::string& file, const std::string& name, fmt::format_string<Args...> format,
                              Args&&... args) {
  throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {}: {}", file, quote_name(name),
                   fmt::format(format, std::forward<Args>(args)...));
}

Shape checked_shape(const std::string& file, const SafetensorsEntry& entry) {
  std::vector<std::int64_t> dims;
  std::int64_t elements = 1;
  for (const std::uint64_t stored : *entry.shape) {
    const auto dim = checked_cast<std::int64_t>(stored);
    if (!dim || *dim < 1) fail_tensor(file, entry.name, "a dimension is {}, expected 1 to 2^63 - 1", stored);
    const auto product = checked_mul(elements, *dim);
    if (!product) fail_tensor(file, entry.name, "the product of its dimensions overflows");
    elements = *product;
    dims.push_back(*dim);
  }
  return folded_shape(dims);
}

RawTensor checked_tensor(const std::string& file, SafetensorsEntry& entry, bool integers) {
  RawTensor tensor;
  tensor.format = quant::find_safetensors_dtype(*entry.dtype);
  const IntegerDtype* integer = integers && tensor.format == nullptr ? find_integer_dtype(*entry.dtype) : nullptr;
  if (tensor.format == nullptr && integer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, entry.name, "{}: tensor {}: dtype {} is not supported", file,
                     quote_name(entry.name), quote_name(*entry.dtype));
  }
  tensor.shape = checked_shape(file, entry);
  const auto value_bytes = static_cast<std::uint64_t>(integer == nullptr ? tensor.format->block_bytes : integer->bytes);
  if (integer != nullptr) tensor.integer_dtype = integer->name;
  const auto expected = checked_mul(static_cast<std::uint64_t>(tensor.shape.elements()), value_bytes);
  const std::uint64_t begin = (*entry.offsets)[0], end = (*entry.offsets)[1];
  if (!expected || end < begin || end - begin != *expected) {
    fail_tensor(file, entry.name, "data_offsets [{}, {}] do not span the {} bytes of {} {}", begin, end,
                expected.value_or(0), tensor.format != nullptr ? tensor.format->name : std::string_view(*entry.dtype),
                tensor.shape.to_string());
  }
  tensor.offset = begin;
  tensor.bytes = *expected;
  tensor.name = std::move(entry.name);
  return tensor;
}

// Makes the offsets absolute once they are known to tile the data, in order.
void place(const std::string& file, std::uint64_t data_offset, std::uint64_t data_bytes,
           std::vector<RawTensor>& tensors) {
  std::ranges::sort(tensors, {}, &RawTensor::offset);
  std::uint64_t next = 0;
  for (RawTensor& tensor : tensors) {
    if (tensor.offset != next) {
      fail_tensor(file, tensor.name, "its data begin at {}, but the tensor before ends at {} ({})", tensor.offset, next,
                  tensor.offset < next ? "an overlap" : "a hole");
    }
    if (tensor.bytes > data_bytes - next) {
      fail_tensor(file, tensor.name, "{} bytes at offset {} do not lie inside the {} bytes of data: truncated?",
                  tensor.bytes, tensor.offset, data_bytes);
    }
    next += tensor.bytes;
    tensor.offset += data_offset;
  }
  if (next != data_bytes) {
    throw_load_error(ErrorCode::kBadFile, file, "{}: {} bytes of data expected, found {}", file, next, data_bytes);
  }
}

std::string header_text(BoundedReader& in, const std::string& path) {
  const auto header_bytes = in.number<std::uint64_t>("header length");
  if (header_bytes > kSafetensorsMaxHeaderBytes || header_bytes > in.remaining()) {
    throw_load_error(ErrorCode::kBadFile, "header length", "{}: a header of {} bytes, at most {} expected", path,
                     header_bytes, std::min<std::uint64_t>(kSafetensorsMaxHeaderBytes, in.remaining()));
  }
  std::string json(static_cast<std::size_t>(header_bytes), '\0');
  in.read(std::as_writable_bytes(std::span(json)), "header");
  return json;
}

}  // namespace

std::map<std::string, std::string> read_safetensors_metadata(const RandomAccessFile& file) {
  BoundedReader in(file, kSafetensorsMaxHeaderBytes + 8);
  return parse_safetensors_metadata(file.path(), header_text(in, file.path()));
}

std::vector<RawTensor> read_safetensors_header(const RandomAccessFile& file, std::vector<IntegerTensor>* integers) {
  const std::string& path = file.path();
  BoundedReader in(file, kSafetensorsMaxHeaderBytes + 8);
  std::vector<SafetensorsEntry> entries = parse_safetensors_header(path, header_text(in, path));
  std::vector<RawTensor> tensors;
  tensors.reserve(entries.size());
  for (SafetensorsEntry& entry : entries) tensors.push_back(checked_tensor(path, entry, integers != nullptr));
  place(path, in.position(), file.size() - in.position(), tensors);
  set_integers_apart(tensors, integers);
  return tensors;
}

}  // namespace millrace::checkpoint
