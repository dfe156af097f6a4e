#include "model/weights/stored_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::string_view kWeightEnding = ".weight";

template <typename Stored>
std::vector<std::int64_t> widened(std::span<const std::byte> raw) {
  std::vector<Stored> values(raw.size() / sizeof(Stored));
  std::memcpy(values.data(), raw.data(), values.size() * sizeof(Stored));
  return {values.begin(), values.end()};
}

bool contains(const Dtypes& list, std::string_view text) noexcept {
  return std::ranges::find(list.names, text) != list.names.end();
}

std::string listed(const Dtypes& list) {
  std::string text;
  for (const std::string_view one : list.names) text += (text.empty() ? "" : " or ") + std::string(one);
  return text;
}

// 2^(bits - 127); 255 is NaN.
float e8m0_to_f32(std::uint8_t bits) noexcept { return bits == 255 ? std::nanf("") : std::ldexp(1.0f, bits - 127); }

}  // namespace

std::string_view dtype_of(const RawTensor& tensor) noexcept {
  return tensor.format != nullptr ? tensor.format->safetensors_dtype : tensor.integer_dtype;
}

const RawTensor* StoredTensors::find(const std::string& name) const {
  const RawTensor* tensor = checkpoint_->find(name);
  return tensor != nullptr ? tensor : checkpoint_->find_integers(name);
}

const RawTensor& StoredTensors::require(const std::string& name, const Dtypes& dtypes) const {
  const RawTensor* tensor = find(name);
  if (tensor == nullptr) fail(name, "missing; expected " + listed(dtypes));
  if (!contains(dtypes, dtype_of(*tensor))) {
    fail(name, fmt::format("{}; expected {}", dtype_of(*tensor), listed(dtypes)));
  }
  return *tensor;
}

const RawTensor& StoredTensors::require(const std::string& name, const Dtypes& dtypes, const Shape& shape) const {
  if (find(name) == nullptr) fail(name, fmt::format("missing; expected {} {}", listed(dtypes), shape.to_string()));
  const RawTensor& tensor = require(name, dtypes);
  if (tensor.shape != shape) {
    fail(name, fmt::format("shape {}; expected {}", tensor.shape.to_string(), shape.to_string()));
  }
  return tensor;
}

std::vector<std::byte> StoredTensors::bytes(const RawTensor& tensor) const {
  return bytes(tensor, {&tensor, 0, tensor.bytes});
}

std::vector<std::byte> StoredTensors::bytes(const RawTensor& tensor, const TensorRange& range) const {
  std::vector<std::byte> raw(range.bytes * range.runs);
  for (std::uint64_t run = 0; run < range.runs; ++run) {
    const auto part = std::span(raw).subspan(run * range.bytes, range.bytes);
    checkpoint_->read(tensor, range.offset + run * range.stride, part).or_throw();
  }
  return raw;
}

std::vector<float> StoredTensors::floats(const RawTensor& tensor) const {
  const std::string_view dtype = dtype_of(tensor);
  if (tensor.format == nullptr && dtype != "U8" && dtype != "F8_E8M0") {
    fail(tensor.name, fmt::format("{}; expected numbers, or exponents in bytes", dtype));
  }
  const std::vector<std::byte> raw = bytes(tensor);
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  if (tensor.format != nullptr) {
    tensor.format->unpack(raw.data(), values);
  } else {
    std::ranges::transform(raw, values.begin(),
                           [](std::byte b) { return e8m0_to_f32(std::to_integer<std::uint8_t>(b)); });
  }
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return values;
  const auto at = bad - values.begin();
  if (tensor.format == nullptr) fail(tensor.name, fmt::format("exponent {} is 255: NaN", at));
  fail(tensor.name, fmt::format("value {} is {}", at, *bad));
}

bool StoredTensors::has_weight(const std::string& module, const Dtypes& dtypes) const {
  const RawTensor* weight = find(module + std::string(kWeightEnding));
  return weight != nullptr && weight->shape.rank() == 2 && contains(dtypes, dtype_of(*weight));
}

std::vector<std::string> StoredTensors::modules(const Dtypes& endings, const Dtypes& weights) const {
  std::set<std::string> all;
  const auto add = [&](const RawTensor& tensor) {
    for (const std::string_view ending : endings.names) {
      if (std::string stem = stem_of(tensor.name, ending); !stem.empty()) all.insert(std::move(stem));
    }
    std::string module = stem_of(tensor.name, kWeightEnding);
    if (!module.empty() && has_weight(module, weights)) all.insert(std::move(module));
  };
  for (const RawTensor& tensor : checkpoint_->tensors) add(tensor);
  for (const checkpoint::IntegerTensor& one : checkpoint_->integers) add(one.tensor);
  return {all.begin(), all.end()};
}

std::vector<std::int64_t> StoredTensors::integers(const RawTensor& tensor) const {
  const std::vector<std::byte> raw = bytes(tensor);
  const std::string_view dtype = dtype_of(tensor);
  if (dtype == "I64") return widened<std::int64_t>(raw);
  if (dtype == "I32") return widened<std::int32_t>(raw);
  if (dtype == "U32") return widened<std::uint32_t>(raw);
  if (dtype == "I8") return widened<std::int8_t>(raw);
  if (dtype == "U8") return widened<std::uint8_t>(raw);
  fail(tensor.name, fmt::format("{}; expected integers", dtype));
}

void StoredTensors::fail(const std::string& tensor, const std::string& what) const {
  throw_load_error(ErrorCode::kBadFile, tensor, "{}: tensor '{}': {}", checkpoint_->path, tensor, what);
}

std::vector<std::string> StoredTensors::stems(std::string_view ending) const {
  std::vector<std::string> all;
  const auto add = [&](const std::string& name) {
    if (std::string stem = stem_of(name, ending); !stem.empty()) all.push_back(std::move(stem));
  };
  for (const RawTensor& tensor : checkpoint_->tensors) add(tensor.name);
  for (const checkpoint::IntegerTensor& one : checkpoint_->integers) add(one.tensor.name);
  return all;
}

std::string stem_of(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? std::string(name.substr(0, name.size() - ending.size())) : std::string();
}

TensorRange range_of_rows(const RawTensor& tensor, std::int64_t first, std::int64_t count) {
  const std::uint64_t row = tensor.bytes / static_cast<std::uint64_t>(tensor.shape[0]);
  return {&tensor, static_cast<std::uint64_t>(first) * row, static_cast<std::uint64_t>(count) * row};
}

TensorRange range_of_columns(const RawTensor& tensor, std::int64_t first, std::int64_t count) {
  const std::uint64_t value = tensor.bytes / static_cast<std::uint64_t>(tensor.shape.elements());
  const auto columns = static_cast<std::uint64_t>(tensor.shape.back());
  return {&tensor, static_cast<std::uint64_t>(first) * value, static_cast<std::uint64_t>(count) * value,
          tensor.bytes / value / columns, columns * value};
}

}  // namespace millrace::model
