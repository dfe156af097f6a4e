#include "checkpoint/gguf_reader.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "checkpoint/bounded_reader.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::uint64_t kMinEntryBytes = 8 + 4 + 1;           // key length, type, a bool
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;  // name length, rank, one dimension, type, offset

template <typename T>
constexpr std::uint64_t min_bytes() {
  if constexpr (std::is_same_v<T, std::string>) {
    return 8;
  } else if constexpr (std::is_same_v<T, GgufArray>) {
    return 12;
  } else {
    return sizeof(T);
  }
}

// Reads values of one key; `field` is how messages name it.
class ValueReader {
 public:
  ValueReader(BoundedReader& in, std::string_view key) : in_(in), key_(key), field_("key " + quote_name(key)) {}

  GgufValue value() {
    const auto type = in_.number<std::uint32_t>(field_);
    return value(type, std::make_index_sequence<kGgufTypes>());
  }

 private:
  template <std::size_t... I>
  GgufValue value(std::uint32_t type, std::index_sequence<I...>) {
    GgufValue out;
    const bool known = ((type == I && (out.emplace<I>(one<std::variant_alternative_t<I, GgufValue>>(1)), true)) || ...);
    if (!known) fail_type("type", type);
    return out;
  }

  template <typename T>
  T one(int depth) {
    if constexpr (std::is_same_v<T, std::string>) {
      return in_.string(field_);
    } else if constexpr (std::is_same_v<T, GgufArray>) {
      return array(depth, std::make_index_sequence<kGgufTypes>());
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto byte = in_.number<std::uint8_t>(field_);
      if (byte > 1) {
        throw_load_error(ErrorCode::kBadFile, std::string(key_), "{}: {}: a bool must be 0 or 1, found {}", in_.path(),
                         field_, byte);
      }
      return byte == 1;
    } else {
      return in_.number<T>(field_);
    }
  }

  template <std::size_t... I>
  GgufArray array(int depth, std::index_sequence<I...>) {
    if (depth > kGgufMaxArrayDepth) {
      throw_load_error(ErrorCode::kBadFile, std::string(key_), "{}: {}: arrays nested deeper than {}", in_.path(),
                       field_, kGgufMaxArrayDepth);
    }
    const auto type = in_.number<std::uint32_t>(field_);
    const auto count = in_.number<std::uint64_t>(field_);
    GgufArray out;
    const bool known =
        ((type == I &&
          (out.elements.emplace<I>(elements<std::variant_alternative_t<I, GgufValue>>(count, depth)), true)) ||
         ...);
    if (!known) fail_type("element type", type);
    return out;
  }

  template <typename T>
  std::vector<T> elements(std::uint64_t count, int depth) {
    in_.require(count, min_bytes<T>(), field_);
    std::vector<T> out;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      out.resize(static_cast<std::size_t>(count));
      in_.read(std::as_writable_bytes(std::span(out)), field_);
    } else {
      out.reserve(static_cast<std::size_t>(count));
      for (std::uint64_t i = 0; i < count; ++i) out.push_back(one<T>(depth + 1));
    }
    return out;
  }

  [[noreturn]] void fail_type(std::string_view what, std::uint32_t type) const {
    throw_load_error(ErrorCode::kBadFile, std::string(key_), "{}: {}: {} 0 to {} expected, found {}", in_.path(),
                     field_, what, kGgufTypes - 1, type);
  }

  BoundedReader& in_;
  std::string_view key_;
  std::string field_;
};

std::uint32_t read_version(BoundedReader& in) {
  std::array<char, 4> magic;
  in.read(std::as_writable_bytes(std::span(magic)), "magic");
  if (std::string_view(magic.data(), magic.size()) != kGgufMagic) {
    throw_load_error(ErrorCode::kBadFile, "magic", "{}: not a GGUF file: the first bytes are {}, expected 'GGUF'",
                     in.path(), quote_name({magic.data(), magic.size()}));
  }
  const auto version = in.number<std::uint32_t>("version");
  if (version != 0 && (version & 0xffffu) == 0) {
    throw_load_error(ErrorCode::kUnsupported, "version", "{}: big-endian GGUF is not supported", in.path());
  }
  if (version != 2 && version != 3) {
    throw_load_error(ErrorCode::kUnsupported, "version", "{}: GGUF version 2 or 3 expected, found {}", in.path(),
                     version);
  }
  return version;
}

std::uint64_t read_alignment(const GgufMetadata& metadata) {
  const GgufValue* value = metadata.find("general.alignment");
  if (value == nullptr) return kGgufDefaultAlignment;
  const auto* stored = std::get_if<std::uint32_t>(value);
  if (stored == nullptr) {
    throw_load_error(ErrorCode::kBadFile, "general.alignment", "{}: key 'general.alignment': expected uint32, found {}",
                     metadata.file(), gguf_type_name(*value));
  }
  if (*stored < 8 || *stored > kMaxAlignment || (*stored & (*stored - 1)) != 0) {
    throw_load_error(ErrorCode::kBadFile, "general.alignment",
                     "{}: key 'general.alignment': expected a power of two from 8 to {}, found {}", metadata.file(),
                     kMaxAlignment, *stored);
  }
  return *stored;
}

template <typename... Args>
[[noreturn]] void fail_tensor(const BoundedReader& in, const std::string& name, fmt::format_string<Args...> format,
                              Args&&... args) {
  throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {}: {}", in.path(), quote_name(name),
                   fmt::format(format, std::forward<Args>(args)...));
}

// GGUF lists dimensions innermost first; ours are outermost first.
Shape read_shape(BoundedReader& in, const std::string& name, const std::string& field) {
  const auto rank = in.number<std::uint32_t>(field);
  if (rank < 1 || rank > Shape::kMaxRank)
    fail_tensor(in, name, "rank 1 to {} expected, found {}", +Shape::kMaxRank, rank);
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  std::int64_t elements = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const auto stored = in.number<std::uint64_t>(field);
    const auto dim = checked_cast<std::int64_t>(stored);
    if (!dim || *dim < 1) fail_tensor(in, name, "dimension {} is {}, expected 1 to 2^63 - 1", i, stored);
    const auto product = checked_mul(elements, *dim);
    if (!product) fail_tensor(in, name, "the product of its dimensions overflows");
    elements = *product;
    dims[rank - 1 - i] = *dim;
  }
  Shape shape;
  for (std::uint32_t i = 0; i < rank; ++i) shape.append(dims[i]);
  return shape;
}

std::uint64_t stored_bytes(const BoundedReader& in, const RawTensor& tensor) {
  const quant::QuantFormat& format = *tensor.format;
  if (tensor.shape.back() % format.block_values != 0) {
    fail_tensor(in, tensor.name, "rows of {} values are not a multiple of the {} values in a block of {}",
                tensor.shape.back(), format.block_values, format.name);
  }
  const auto blocks = static_cast<std::uint64_t>(tensor.shape.elements() / format.block_values);
  const auto bytes = checked_mul(blocks, static_cast<std::uint64_t>(format.block_bytes));
  if (!bytes) fail_tensor(in, tensor.name, "its size in bytes overflows");
  return *bytes;
}

// RawTensor::offset is still relative to the data section, whose place is known after the last entry.
RawTensor read_tensor(BoundedReader& in, std::uint64_t number, std::uint64_t alignment) {
  RawTensor tensor;
  tensor.name = in.string("name of tensor " + std::to_string(number));
  const std::string field = "tensor " + quote_name(tensor.name);
  tensor.shape = read_shape(in, tensor.name, field);
  const auto type = in.number<std::uint32_t>(field);
  tensor.format = quant::find_gguf_type(type);
  if (tensor.format == nullptr) {
    constexpr std::uint32_t kFirstOfIkLlama = 97;
    constexpr std::uint32_t kLastOfIkLlama = 399;
    const bool of_ik_llama = type >= kFirstOfIkLlama && type <= kLastOfIkLlama;
    throw_load_error(ErrorCode::kUnsupported, tensor.name, "{}: {}: weight type number {} is not supported{}",
                     in.path(), field, type,
                     of_ik_llama ? ": it is ik_llama.cpp's own; files of llama.cpp's types are read" : "");
  }
  tensor.bytes = stored_bytes(in, tensor);
  tensor.offset = in.number<std::uint64_t>(field);
  if (tensor.offset % alignment != 0) {
    fail_tensor(in, tensor.name, "offset {} is not a multiple of the alignment {}", tensor.offset, alignment);
  }
  return tensor;
}

void place_tensors(const BoundedReader& in, std::uint64_t file_bytes, GgufHeader& header) {
  for (RawTensor& tensor : header.tensors) {
    const auto start = checked_add(header.data_offset, tensor.offset);
    const auto end = start ? checked_add(*start, tensor.bytes) : std::nullopt;
    if (!end || *end > file_bytes) {
      fail_tensor(in, tensor.name, "{} bytes at offset {} of the data do not lie inside the file of {} bytes",
                  tensor.bytes, tensor.offset, file_bytes);
    }
    tensor.offset = *start;
  }
}

void reject_overlaps(const BoundedReader& in, const std::vector<RawTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return tensors[i].offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const RawTensor& before = tensors[order[i - 1]];
    const RawTensor& tensor = tensors[order[i]];
    if (before.offset + before.bytes > tensor.offset) {
      fail_tensor(in, tensor.name, "its data overlap those of tensor {}", quote_name(before.name));
    }
  }
}

}  // namespace

GgufHeader read_gguf_header(const RandomAccessFile& file) {
  BoundedReader in(file, kGgufMaxHeaderBytes);
  GgufHeader header{.metadata = GgufMetadata(file.path()), .tensors = {}};
  header.version = read_version(in);
  const auto n_tensors = in.number<std::uint64_t>("tensor count");
  const auto n_entries = in.number<std::uint64_t>("metadata count");
  in.require(n_entries, kMinEntryBytes, "metadata count");
  for (std::uint64_t i = 0; i < n_entries; ++i) {
    std::string key = in.string("metadata key " + std::to_string(i));
    GgufValue value = ValueReader(in, key).value();
    header.metadata.add(std::move(key), std::move(value));
  }
  header.alignment = read_alignment(header.metadata);
  in.require(n_tensors, kMinTensorBytes, "tensor count");
  header.tensors.reserve(static_cast<std::size_t>(n_tensors));
  std::unordered_set<std::string> names;
  for (std::uint64_t i = 0; i < n_tensors; ++i) {
    header.tensors.push_back(read_tensor(in, i, header.alignment));
    const std::string& name = header.tensors.back().name;
    if (!names.insert(name).second) fail_tensor(in, name, "the name occurs twice");
  }
  header.data_offset = (in.position() + header.alignment - 1) / header.alignment * header.alignment;
  place_tensors(in, file.size(), header);
  reject_overlaps(in, header.tensors);
  return header;
}

}  // namespace millrace::checkpoint
