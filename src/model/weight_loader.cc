#include "model/weight_loader.h"

#include <cstring>

#include "model/weights/plain_weights.h"

namespace millrace::model {
namespace {

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

}  // namespace

std::string WeightLoader::layer_name(const std::string& pattern, std::int64_t layer) {
  const std::size_t at = pattern.find("{}");
  return at == std::string::npos ? pattern : pattern.substr(0, at) + std::to_string(layer) + pattern.substr(at + 2);
}

void WeightLoader::use(const RawTensor& tensor) {
  if (used_.insert(tensor.name).second) bytes_used_ += tensor.bytes;
}

std::uint64_t WeightLoader::bytes() const noexcept {
  std::uint64_t all = 0;
  for (const RawTensor& tensor : checkpoint_.tensors) all += tensor.bytes;
  for (const checkpoint::IntegerTensor& integers : checkpoint_.integers) all += integers.tensor.bytes;
  return all;
}

backend::WeightSource WeightLoader::linear(const std::string& name, std::int64_t rows, std::int64_t cols,
                                           bool transposed) {
  const std::shared_ptr<const StoredWeight> weight = weights_.open(name, rows, cols, transposed);
  for (const RawTensor* tensor : weight->tensors) use(*tensor);
  backend::WeightSource source{.name = name, .format = weight->format, .rows = rows, .cols = cols, .read = {}};
  source.read = [weight](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    weight->read(first, count, out);
  };
  source.columns = weight->columns;
  return source;
}

backend::WeightSource WeightLoader::with_rows(backend::WeightSource source, std::vector<std::int32_t> order) {
  if (order.empty()) return source;
  const std::size_t row_bytes = source.format->row_bytes(source.cols);
  source.read = [read = source.read, row_bytes, order = std::move(order)](std::int64_t first, std::int64_t count,
                                                                          std::span<std::byte> out) {
    for (std::int64_t r = 0; r < count; ++r) {
      read(order[static_cast<std::size_t>(first + r)], 1,
           out.subspan(static_cast<std::size_t>(r) * row_bytes, row_bytes));
    }
  };
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
  const RawTensor& tensor = require_tensor(checkpoint_, name, Shape{n});
  use(tensor);
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
  const auto check = [&](const RawTensor& tensor) {
    if (used_.contains(tensor.name)) return;
    for (const std::string& pattern : spec_.names.ignored) {
      if (matches(pattern, tensor.name)) return;
    }
    throw_load_error(ErrorCode::kBadFile, tensor.name,
                     "{}: tensor '{}' {} is not part of a {} model of this configuration", checkpoint_.path,
                     tensor.name, tensor.shape.to_string(), spec_.family);
  };
  for (const RawTensor& tensor : checkpoint_.tensors) check(tensor);
  for (const checkpoint::IntegerTensor& integers : checkpoint_.integers) check(integers.tensor);
}

}  // namespace millrace::model
