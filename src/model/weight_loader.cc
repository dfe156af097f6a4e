#include "model/weight_loader.h"

#include <cstring>
#include <mutex>

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

// `pattern` may hold one or more '*' that match any run of characters.
bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (text.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t i = star; i <= text.size(); ++i) {
    if (matches(rest, text.substr(i))) return true;
  }
  return false;
}

// The weight transposed: [cols, rows] as stored, rows delivered. Only dense formats: a block runs along the wrong
// dimension.
struct Transposed {
  const Checkpoint& checkpoint;
  const RawTensor& tensor;
  std::int64_t rows, cols;
  std::once_flag loaded;
  std::vector<std::byte> data;

  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    std::call_once(loaded, [&] {
      data.resize(tensor.bytes);
      checkpoint.read(tensor, 0, data).or_throw();
    });
    const auto width = static_cast<std::size_t>(tensor.format->block_bytes);
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        std::memcpy(out.data() + static_cast<std::size_t>(r * cols + c) * width,
                    data.data() + static_cast<std::size_t>(c * rows + first + r) * width, width);
      }
    }
  }
};

}  // namespace

std::string WeightLoader::layer_name(const std::string& pattern, std::int64_t layer) {
  const std::size_t at = pattern.find("{}");
  return at == std::string::npos ? pattern : pattern.substr(0, at) + std::to_string(layer) + pattern.substr(at + 2);
}

const RawTensor& WeightLoader::require(const std::string& name, const Shape& shape) {
  const RawTensor* tensor = checkpoint_.find(name);
  if (tensor == nullptr) {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' is missing; expected shape {}", checkpoint_.path, name,
                     shape.to_string());
  }
  if (tensor->shape != shape) {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' has shape {}; expected {}", checkpoint_.path, name,
                     tensor->shape.to_string(), shape.to_string());
  }
  if (used_.insert(name).second) bytes_used_ += tensor->bytes;
  return *tensor;
}

backend::WeightSource WeightLoader::linear(const std::string& name, std::int64_t rows, std::int64_t cols,
                                           bool transposed) {
  const Checkpoint& checkpoint = checkpoint_;
  const RawTensor& tensor = require(name, transposed ? Shape{cols, rows} : Shape{rows, cols});
  backend::WeightSource source{.name = name, .format = tensor.format, .rows = rows, .cols = cols, .read = {}};
  if (transposed) {
    if (tensor.format->block_values != 1) {
      throw_load_error(ErrorCode::kUnsupported, name,
                       "{}: tensor '{}' is stored as {} with inputs first; only f32, f16 and bf16 "
                       "can be",
                       checkpoint_.path, name, tensor.format->name);
    }
    auto state = std::make_shared<Transposed>(checkpoint, tensor, rows, cols);
    source.read = [state](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
      state->read(first, count, out);
    };
  } else {
    source.read = [&checkpoint, &tensor, cols](std::int64_t first, std::int64_t, std::span<std::byte> out) {
      checkpoint.read(tensor, tensor.format->row_bytes(cols) * static_cast<std::size_t>(first), out).or_throw();
    };
  }
  return source;
}

backend::WeightSource WeightLoader::rotary_linear(const std::string& name, std::int64_t rows, std::int64_t cols,
                                                  std::int64_t head_dim) {
  backend::WeightSource source = linear(name, rows, cols);
  const std::size_t row_bytes = source.format->row_bytes(cols);
  source.read = [read = source.read, row_bytes, head_dim](std::int64_t first, std::int64_t count,
                                                          std::span<std::byte> out) {
    const std::int64_t begin = first / head_dim * head_dim;
    const std::int64_t end = (first + count + head_dim - 1) / head_dim * head_dim;
    std::vector<std::byte> heads(static_cast<std::size_t>(end - begin) * row_bytes);
    read(begin, end - begin, heads);
    for (std::int64_t r = 0; r < count; ++r) {
      std::memcpy(out.data() + static_cast<std::size_t>(r) * row_bytes,
                  heads.data() + static_cast<std::size_t>(paired_row(first + r, head_dim) - begin) * row_bytes,
                  row_bytes);
    }
  };
  return source;
}

std::vector<float> WeightLoader::vector(const std::string& name, std::int64_t n) {
  const RawTensor& tensor = require(name, Shape{n});
  std::vector<std::byte> raw(tensor.bytes);
  checkpoint_.read(tensor, 0, raw).or_throw();
  std::vector<float> values(static_cast<std::size_t>(n));
  tensor.format->unpack(raw.data(), values);
  return values;
}

std::vector<float> WeightLoader::rotary_vector(const std::string& name, std::int64_t n, std::int64_t head_dim) {
  const std::vector<float> paired = vector(name, n);
  std::vector<float> halves(paired.size());
  for (std::int64_t i = 0; i < n; ++i) {
    halves[static_cast<std::size_t>(i)] = paired[static_cast<std::size_t>(paired_row(i, head_dim))];
  }
  return halves;
}

void WeightLoader::check_all_used() const {
  for (const RawTensor& tensor : checkpoint_.tensors) {
    if (used_.contains(tensor.name)) continue;
    bool ignorable = false;
    for (const std::string& pattern : spec_.names.ignored) ignorable = ignorable || matches(pattern, tensor.name);
    if (!ignorable) {
      throw_load_error(ErrorCode::kBadFile, tensor.name,
                       "{}: tensor '{}' {} is not part of a {} model of this configuration", checkpoint_.path,
                       tensor.name, tensor.shape.to_string(), spec_.family);
    }
  }
}

}  // namespace millrace::model
